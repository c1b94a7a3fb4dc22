package chat

// ReadEvents is for fuzzing.
var ReadEvents = readEvents
