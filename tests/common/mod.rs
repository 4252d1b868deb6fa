//! What several tests share: the oracle, one way to drive it and the limiters alike, and what to
//! drive them with. The fuzz targets mount it, too.

pub mod agree;
pub mod party;
pub mod progress;
pub mod reference;
pub mod script;
pub mod subject;
