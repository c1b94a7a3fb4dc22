package boltfile

// Windows lacks the calls that durability here depends on: flock, which keeps a second process
// out, a sync of the folder after a file is created, and mmap as it is used here. The compiler
// prints the undeclared name as its message.
const _ = a2a_server_does_not_run_on_Windows__use_WSL_or_a_container
