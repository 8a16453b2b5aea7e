//! Messaging platforms as doors: what arrives goes into a session's log before the platform is told, what is answered goes back
//! out with a receipt. It sees sessions through the hub alone; it knows neither the store nor a model.

pub mod platform;
