package tree

import (
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestChoicesAreAll: what eachBelow takes for certain of messages that are a choice.
func TestChoicesAreAll(t *testing.T) {
	all := pg_query.File_pg_query_proto.Messages()
	choices := 0
	for i := range all.Len() {
		m := all.Get(i)
		if m.Oneofs().Len() == 0 {
			continue
		}
		choices++
		fields := m.Fields()
		for j := range fields.Len() {
			f := fields.Get(j)
			message := f.Kind() == protoreflect.MessageKind
			if chosen := f.ContainingOneof() == m.Oneofs().Get(0); message != chosen {
				t.Errorf("%s.%s: a message %v, of the first choice %v", m.Name(), f.Name(), message, chosen)
			}
		}
	}
	if choices == 0 {
		t.Error("vacuous: no message is a choice")
	}
}
