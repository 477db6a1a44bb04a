package main

import "runtime"

// makeRoomForLoops says how many event loops to run: one for two processors, since others
// work beside us. Each gets a processor of Go's own on top: it keeps one while it waits in
// the kernel, until the scheduler notices, and goroutines that wait for a disk or for Redis
// would have to wait for that as well.
func makeRoomForLoops() int {
	processors := runtime.GOMAXPROCS(0)
	loops := max(1, processors/2)
	runtime.GOMAXPROCS(processors + loops)
	return loops
}
