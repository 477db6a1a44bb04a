// Package moving is the file in which pools and live leases move from one store to another: what
// `raisinproxy export` writes and `raisinproxy import` reads.
//
// It is a text of one JSON object in each line. The first says what the file is, the last how many
// lines of each kind there are, the greatest token that the store may have told to anybody, and the
// SHA-256 of all that. So a file that was cut off or changed is noticed, and Open reads
// it as a whole before an import may change anything.
//
//	file.go    Writer and File: the file as a whole
//	record.go  its lines
package moving
