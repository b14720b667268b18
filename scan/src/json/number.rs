//! The grammar of a number, a byte at a time.

/// What was read of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Minus,
    /// A zero in front: no digit may follow.
    Zero,
    Whole,
    Dot,
    Fraction,
    /// `e` or `E`.
    Power,
    PowerSign,
    PowerDigits,
}

impl Number {
    /// The state behind its first byte.
    pub(crate) fn begin(byte: u8) -> Option<Number> {
        match byte {
            b'-' => Some(Number::Minus),
            b'0' => Some(Number::Zero),
            b'1'..=b'9' => Some(Number::Whole),
            _ => None,
        }
    }

    /// The state behind one more byte, if it belongs to the number.
    pub(crate) fn next(self, byte: u8) -> Option<Number> {
        use Number::*;
        match (self, byte) {
            (Minus, b'0') => Some(Zero),
            (Minus, b'1'..=b'9') | (Whole, b'0'..=b'9') => Some(Whole),
            (Zero | Whole, b'.') => Some(Dot),
            (Dot | Fraction, b'0'..=b'9') => Some(Fraction),
            (Zero | Whole | Fraction, b'e' | b'E') => Some(Power),
            (Power, b'+' | b'-') => Some(PowerSign),
            (Power | PowerSign | PowerDigits, b'0'..=b'9') => Some(PowerDigits),
            _ => None,
        }
    }

    /// Whether it may end here.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Number::Zero | Number::Whole | Number::Fraction | Number::PowerDigits)
    }
}
