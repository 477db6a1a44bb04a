//go:build !race

package sqltext

// underRace: the race detector is on. It changes what is inlined, and so what stays on the stack.
const underRace = false
