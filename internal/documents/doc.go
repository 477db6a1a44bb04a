// Package documents reads the fenced blocks of Markdown, so that a test can run what a
// document says a reader should type and compare what is printed with what it shows.
//
//   - blocks.go: the blocks of a document and what their info strings say
//   - transcript.go: a console block as prompts, inputs and outputs
//   - holes.go: outputs that are the same except tokens and times
//
// Only tests use it.
package documents
