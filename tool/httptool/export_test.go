package httptool

// IdempotencyKey is for tests.
var IdempotencyKey = idempotencyKey
