//! What several fuzz targets do with their input.

/// Cuts where the bytes of `steps` say, again and again.
pub fn cut<'a>(mut text: &'a [u8], steps: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut steps = steps.iter().cycle();
    std::iter::from_fn(move || {
        let n = (1 + usize::from(*steps.next()?)).min(text.len());
        let (piece, rest) = text.split_at(n);
        text = rest;
        (n > 0).then_some(piece)
    })
}
