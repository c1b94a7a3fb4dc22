package boltstore

// Windows has none of what durability here depends on: flock, which keeps a second process
// out, a sync of the folder after a file is created, and mmap as it is used here. The name
// that is not declared is the message that the compiler prints.
const _ = a2a_server_does_not_run_on_Windows__use_WSL_or_a_container
