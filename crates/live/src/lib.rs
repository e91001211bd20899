//! Ports and the clock that ticks.

