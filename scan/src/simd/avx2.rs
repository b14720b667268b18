//! The filters with AVX2: eight grams a step, thirty-two runs a step.
//!
//! The only `unsafe` code of the crate. Each block states why it is sound; nothing here trusts a text or a rule: every
//! address is inside an array whose length the types or an assertion fix.

use std::arch::x86_64::*;

use super::{BLOCK, FACTOR, FOLD, GRAM_BITS, Grams, ROOM, Runs, TELLING};

/// [`Grams::places`]; `None` without AVX2.
pub(super) fn grams(table: &Grams, bytes: &[u8], n: usize) -> Option<(u64, u64)> {
    let bytes: &[u8; ROOM] = bytes.first_chunk()?;
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    // SAFETY: AVX2 is there.
    Some(unsafe { grams_of(table, bytes, n.min(BLOCK)) })
}

#[target_feature(enable = "avx2")]
fn grams_of(table: &Grams, bytes: &[u8; ROOM], n: usize) -> (u64, u64) {
    let spread = _mm256_setr_epi8(
        0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, // the first four places
        4, 5, 6, 7, 5, 6, 7, 8, 6, 7, 8, 9, 7, 8, 9, 10, // the next four
    );
    let (mut longer, mut pairs) = (0, 0);
    for at in (0..n).step_by(8) {
        // SAFETY: `at` is at most 56, so all 16 bytes are in the array.
        let raw = unsafe { _mm_loadu_si128(bytes.as_ptr().add(at).cast()) };
        let gram = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(raw), spread);
        let gram = _mm256_or_si256(gram, _mm256_set1_epi32(FOLD as i32));
        let product = _mm256_mullo_epi32(_mm256_srli_epi32::<8>(gram), _mm256_set1_epi32(FACTOR as i32));
        let slot = _mm256_srli_epi32::<{ 32 - GRAM_BITS as i32 }>(product);
        let low = _mm256_and_si256(gram, _mm256_set1_epi32(15));
        let letter = _mm256_andnot_si256(_mm256_srli_epi32::<3>(gram), _mm256_srli_epi32::<2>(gram));
        let high = _mm256_and_si256(letter, _mm256_set1_epi32(16));
        let pair = _mm256_srli_epi32::<21>(gram);
        let bit = _mm256_and_si256(_mm256_srli_epi32::<16>(gram), _mm256_set1_epi32(31));
        // SAFETY: a slot has `GRAM_BITS` bits and a pair eleven: both are inside their tables.
        let (long, short) = unsafe {
            (
                _mm256_i32gather_epi32::<4>(table.longer.as_ptr().cast(), slot),
                _mm256_i32gather_epi32::<4>(table.pairs.as_ptr().cast(), pair),
            )
        };
        longer |= signs(long, _mm256_or_si256(low, high)) << at;
        pairs |= signs(short, bit) << at;
    }
    (longer, pairs)
}

/// Of each word its bit `bit`, as a mask.
#[target_feature(enable = "avx2")]
fn signs(words: __m256i, bit: __m256i) -> u64 {
    let to_sign = _mm256_sub_epi32(_mm256_set1_epi32(31), bit);
    let signs = _mm256_sllv_epi32(words, to_sign);
    _mm256_movemask_ps(_mm256_castsi256_ps(signs)) as u8 as u64
}

/// [`Runs::places`]; `None` without AVX2.
pub(super) fn runs(table: &Runs, bytes: &[u8], n: usize, kinds: u32) -> Option<u64> {
    let bytes: &[u8; ROOM] = bytes.first_chunk()?;
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    // SAFETY: AVX2 is there.
    Some(unsafe { runs_of(table, bytes, n.min(BLOCK), kinds) })
}

#[target_feature(enable = "avx2")]
fn runs_of(table: &Runs, bytes: &[u8; ROOM], n: usize, kinds: u32) -> u64 {
    let mut classes = [0u8; ROOM];
    for at in (0..ROOM).step_by(32) {
        // SAFETY: `ROOM` is a multiple of 32, so all 32 bytes are in both arrays.
        unsafe {
            let of = classes_of(_mm256_loadu_si256(bytes.as_ptr().add(at).cast()));
            _mm256_storeu_si256(classes.as_mut_ptr().add(at).cast(), of);
        }
    }
    let mut found = 0;
    for at in (0..n).step_by(32) {
        let mut any = _mm256_setzero_si256();
        for (tables, kinds) in table.kinds.iter().zip(kinds.to_le_bytes()).filter(|(_, kinds)| *kinds != 0) {
            let mut fits = _mm256_set1_epi8(kinds as i8);
            for (place, kinds) in tables.iter().enumerate() {
                // SAFETY: `at + place` is at most 36, so all 32 bytes are in the array.
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
    const HALF: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 1, 1, 1, 1, 1, 1, 1, 1];
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
