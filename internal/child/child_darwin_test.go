package child_test

func reaper() {}
