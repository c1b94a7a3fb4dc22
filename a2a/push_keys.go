package a2a

// KeysPath is where receivers find the keys of the tokens of notifications, below the base
// URL. A new key is there before it signs anything that arrives, but not in the caches of
// receivers, which ask again for a key that they do not know.
const KeysPath = "/.well-known/jwks.json"
