// Package login brings a connection from its first byte to where it is known whose it is. It ends before there is a
// session.
//
//	door.go          who is let in: Door for a server, Visitor for a connection, Guest for whose it is then
//	packet.go        what comes before the start-up packet, and the packet; tls.go, secure connections
//	authenticate.go  the messages of package identity, and who has failed
//	queue.go         how many may log in at once, and who has to go
package login
