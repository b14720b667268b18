//! The filters with AVX2: eight grams a step, thirty-two runs a step.
//!
//! The only `unsafe` code of the crate. Each block states why it is sound; nothing here trusts a text or a rule: every
//! address is inside an array whose length the types or an assertion fix.

use std::arch::x86_64::*;

use super::{BLOCK, FACTOR, FOLD, GRAM_BITS, Grams, MISSING, OTHER_FACTOR, Places, ROOM, Runs, SHORT_BITS, TELLING};

/// [`Grams::places`]; `None` without AVX2.
pub(super) fn grams(table: &Grams, bytes: &[u8], n: usize) -> Option<Places> {
    let bytes: &[u8; ROOM] = bytes.first_chunk()?;
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    // SAFETY: AVX2 is there.
    Some(unsafe { grams_of(table, bytes, n.min(BLOCK)) })
}

#[target_feature(enable = "avx2")]
fn grams_of(table: &Grams, bytes: &[u8; ROOM], n: usize) -> Places {
    let last_four = _mm256_setr_epi8(
        2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7, 5, 6, 7, 8, // the first four places
        6, 7, 8, 9, 7, 8, 9, 10, 8, 9, 10, 11, 9, 10, 11, 12, // the next four
    );
    let two_before = _mm256_setr_epi8(
        0, 1, -1, -1, 1, 2, -1, -1, 2, 3, -1, -1, 3, 4, -1, -1, // the same places
        4, 5, -1, -1, 5, 6, -1, -1, 6, 7, -1, -1, 7, 8, -1, -1,
    );
    let fold = _mm256_set1_epi32(FOLD as i32);
    let factor = _mm256_set1_epi32(FACTOR as i32);
    let other_factor = _mm256_set1_epi32(OTHER_FACTOR as i32);
    let mut out = Places { fives: 0, threes: 0, twos: 0 };
    for at in (0..n).step_by(8) {
        // SAFETY: `at` is at most 56, so all 16 bytes are in the array.
        let raw = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().add(at).cast()) });
        let gram = _mm256_or_si256(_mm256_shuffle_epi8(raw, last_four), fold);
        let before = _mm256_or_si256(_mm256_shuffle_epi8(raw, two_before), fold);
        let first = _mm256_or_si256(_mm256_srli_epi32::<8>(before), fold);
        let five = _mm256_add_epi32(_mm256_mullo_epi32(first, other_factor), _mm256_mullo_epi32(gram, factor));
        let three = _mm256_mullo_epi32(_mm256_srli_epi32::<8>(gram), factor);
        let two = _mm256_mullo_epi32(_mm256_srli_epi32::<16>(gram), factor);
        // SAFETY: a hash is shifted to as many bits as its table has words.
        let (fives, threes, twos) = unsafe {
            (
                gather(&table.fives[..], _mm256_srli_epi32::<{ 32 - GRAM_BITS as i32 }>(five)),
                gather(&table.threes[..], _mm256_srli_epi32::<{ 32 - GRAM_BITS as i32 }>(three)),
                gather(&table.twos[..], _mm256_srli_epi32::<{ 32 - SHORT_BITS as i32 }>(two)),
            )
        };
        out.fives |= signs(fives, kind(before)) << at;
        out.threes |= signs(threes, kind(gram)) << at;
        out.twos |= signs(twos, kind(_mm256_srli_epi32::<8>(gram))) << at;
    }
    for one in &table.ones {
        for at in [0, 32] {
            // SAFETY: with what stands before the places 37 and 32 bytes are fewer than the array has.
            let raw = unsafe { _mm256_loadu_si256(bytes.as_ptr().add(Grams::BEFORE + at).cast()) };
            let same = _mm256_cmpeq_epi8(_mm256_or_si256(raw, fold), _mm256_set1_epi8(*one as i8));
            out.twos |= u64::from(_mm256_movemask_epi8(same) as u32) << at;
        }
    }
    out
}

/// The words at `indices`.
///
/// # Safety
/// Every index is inside `table`.
#[target_feature(enable = "avx2")]
unsafe fn gather(table: &[u32], indices: __m256i) -> __m256i {
    // SAFETY: as above.
    unsafe { _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), indices) }
}

/// [`super::kind`] of the lowest byte of each word.
#[target_feature(enable = "avx2")]
fn kind(folded: __m256i) -> __m256i {
    let half = _mm256_and_si256(folded, _mm256_set1_epi32(0xc0));
    let letter = _mm256_cmpeq_epi32(half, _mm256_set1_epi32(0x40));
    let other = _mm256_or_si256(_mm256_and_si256(folded, _mm256_set1_epi32(3)), _mm256_set1_epi32(28));
    _mm256_blendv_epi8(other, _mm256_and_si256(folded, _mm256_set1_epi32(31)), letter)
}

/// Of each word its bit `bit`, as a mask.
#[target_feature(enable = "avx2")]
fn signs(words: __m256i, bit: __m256i) -> u64 {
    let to_sign = _mm256_sub_epi32(_mm256_set1_epi32(31), bit);
    let signs = _mm256_sllv_epi32(words, to_sign);
    _mm256_movemask_ps(_mm256_castsi256_ps(signs)) as u8 as u64
}

/// [`Runs::places`]; `None` without AVX2.
pub(super) fn runs(table: &Runs, bytes: &[u8], there: usize, n: usize, kinds: u32) -> Option<u64> {
    let bytes: &[u8; ROOM] = bytes.first_chunk()?;
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    // SAFETY: AVX2 is there.
    Some(unsafe { runs_of(table, bytes, there, n.min(BLOCK), kinds) })
}

#[target_feature(enable = "avx2")]
fn runs_of(table: &Runs, bytes: &[u8; ROOM], there: usize, n: usize, kinds: u32) -> u64 {
    let mut classes = [0u8; ROOM];
    for at in (0..ROOM).step_by(32) {
        // SAFETY: `ROOM` is a multiple of 32, so all 32 bytes are in both arrays.
        unsafe {
            let of = classes_of(_mm256_loadu_si256(bytes.as_ptr().add(at).cast()));
            _mm256_storeu_si256(classes.as_mut_ptr().add(at).cast(), of);
        }
    }
    if let Some(missing) = classes.get_mut(there..) {
        missing.fill(MISSING as u8);
    }
    let mut found = 0;
    for at in (0..n).step_by(32) {
        let mut any = _mm256_setzero_si256();
        for (tables, kinds) in table.kinds.iter().zip(kinds.to_le_bytes()).filter(|(_, kinds)| *kinds != 0) {
            let mut fits = _mm256_set1_epi8(kinds as i8);
            for (place, kinds) in tables.iter().enumerate() {
                // SAFETY: `at + place` is at most 40, so all 32 bytes are in the array.
                let class = unsafe { _mm256_loadu_si256(classes.as_ptr().add(at + place).cast()) };
                fits = _mm256_and_si256(fits, _mm256_shuffle_epi8(twice(kinds), class));
            }
            any = _mm256_or_si256(any, fits);
        }
        let none = _mm256_cmpeq_epi8(any, _mm256_setzero_si256());
        found |= u64::from(!_mm256_movemask_epi8(none) as u32) << at;
    }
    found
}

/// [`super::class_of`] of each byte.
#[target_feature(enable = "avx2")]
fn classes_of(bytes: __m256i) -> __m256i {
    const BIT: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];
    const HALF: [u8; 16] = [0, 0, 2, 3, 4, 5, 6, 7, 1, 1, 1, 1, 1, 1, 1, 1];
    let low = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(15));
    let bit = _mm256_shuffle_epi8(twice(&BIT), high);
    // Beyond ASCII the bit is none, and none is always there: class 9.
    let telling = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(twice(&TELLING), low), bit), bit);
    let half = _mm256_shuffle_epi8(twice(&HALF), high);
    _mm256_or_si256(half, _mm256_and_si256(telling, _mm256_set1_epi8(8)))
}

/// A table of sixteen bytes in both halves.
#[target_feature(enable = "avx2")]
fn twice(table: &[u8; 16]) -> __m256i {
    // SAFETY: the array has the sixteen bytes that are read.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
}
