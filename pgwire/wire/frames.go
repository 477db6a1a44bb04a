package wire

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/sqlfuncs/pgerr"
)

// FrameLength is that of a frame with its type, as its header tells.
func FrameLength(frame []byte) int { return 1 + int(binary.BigEndian.Uint32(frame[1:])) }

// AppendFrame appends a message.
func AppendFrame(to []byte, kind byte, body []byte) []byte {
	to = append(to, kind)
	to = binary.BigEndian.AppendUint32(to, uint32(4+len(body)))
	return append(to, body...)
}

// IsBulk says whether a frame is data, about which nothing is to be noted.
func IsBulk(kind byte) bool { return kind == 'D' || kind == 'd' }

// HasRows says whether data is among these frames, the last of which may be cut.
func HasRows(frames []byte) bool {
	for len(frames) > 0 {
		if IsBulk(frames[0]) {
			return true
		}
		if len(frames) < FrameHeader || FrameLength(frames) > len(frames) {
			return false
		}
		frames = frames[FrameLength(frames):]
	}
	return false
}

// EndsSession says whether an error is one after which the connection is closed.
func EndsSession(body []byte) bool {
	var e pgproto3.ErrorResponse
	_ = e.Decode(body)
	return e.SeverityUnlocalized == pgerr.SeverityFatal || e.SeverityUnlocalized == pgerr.SeverityPanic
}

// Split cuts whole frames.
func Split(frames []byte) (all [][]byte) {
	for len(frames) >= FrameHeader {
		length := FrameLength(frames)
		all = append(all, frames[:length])
		frames = frames[length:]
	}
	return all
}
