package upstream

import (
	"encoding/binary"
	"testing"
)

// TestProcessIDsAreForgotten: but the newest, and not one that another process has by now.
func TestProcessIDsAreForgotten(t *testing.T) {
	ids := NewProcessIDs()
	again := processKey{"host", 1}
	for i := range 3 * keptEnded {
		key := processKey{"host", uint32(i + 1)}
		ids.show(key, 1<<30+uint32(i))
		ids.end(key, 1<<30+uint32(i))
		if i == keptEnded/2 {
			ids.show(again, 1<<30-1)
		}
	}
	if n := len(ids.shown); n != keptEnded+1 {
		t.Errorf("%d are known, want %d", n, keptEnded+1)
	}
	for pid, want := range map[uint32]uint32{1: 1<<30 - 1, 2: 2, 3 * keptEnded: 1<<30 + 3*keptEnded - 1} {
		body := binary.BigEndian.AppendUint32(nil, pid)
		ids.translate("host", body)
		if got := binary.BigEndian.Uint32(body); got != want {
			t.Errorf("process %d is %d, want %d", pid, got, want)
		}
		ids.translate("another", binary.BigEndian.AppendUint32(nil, pid))
	}
}
