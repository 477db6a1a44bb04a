package wire

// Parameter is one name and value of the start-up packet.
type Parameter struct{ Name, Value string }
