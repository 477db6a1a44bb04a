//go:build !race

package frontend

// underRace: the race detector is on. It changes what is inlined, and so what stays on the stack.
const underRace = false
