// Package alerts tests the alert rules and the dashboard in the folder above with the libraries of
// Prometheus. The tests are a separate module, because these libraries are large.
package alerts
