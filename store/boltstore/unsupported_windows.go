package boltstore

// Windows has none of what durability here rests on: flock, which keeps a second process
// away, a sync of the folder after a file is made, and mmap as it is used. What is not
// declared is the message of the compiler.
const _ = a2a_server_does_not_run_on_Windows__use_WSL_or_a_container
