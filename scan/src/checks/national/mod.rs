//! Check digits, dates and structures of national identifiers, by part of the world.
//!
//! Each check takes the span as it stands in the text: separators are skipped, letters may be small, and an optional
//! country prefix is left out where the number has one. Each says who issues the number and how its check works; that is
//! public in the issuer's own rules and in registers of such rules (the EU's VIES and TIN portals, the OECD's list of
//! tax identification numbers, ISO/IEC 7064 and 7812). All were compared with an independent validator on random numbers.
//! They are *not* proof that a number was issued, and several pass one number in ten by chance: rules decide what
//! must stand beside a number before it counts.

mod africa_oceania;
mod americas;
mod asia;
mod europe_east;
mod europe_north;
mod europe_south;
mod europe_west;
mod united_states;

use super::Test;

/// Name and test of each check, table by table.
pub(super) const TABLES: &[&[(&str, Test)]] = &[
    africa_oceania::CHECKS,
    americas::CHECKS,
    asia::CHECKS,
    europe_east::CHECKS,
    europe_north::CHECKS,
    europe_south::CHECKS,
    europe_west::CHECKS,
    united_states::CHECKS,
];
