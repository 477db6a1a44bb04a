package redis

import (
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by it; nothing secret hangs on it
	_ "embed"
	"encoding/hex"
)

// script is a Lua script as EVAL and EVALSHA take it.
type script struct {
	name, text, sha string
}

//go:embed lua/prelude.lua
var prelude string

//go:embed lua/queue.lua
var queueText string

//go:embed lua/poll.lua
var pollText string

//go:embed lua/acquire.lua
var acquireText string

//go:embed lua/release.lua
var releaseText string

//go:embed lua/renew.lua
var renewText string

//go:embed lua/look.lua
var lookText string

//go:embed lua/claim.lua
var claimText string

//go:embed lua/reserve.lua
var reserveText string

//go:embed lua/restock.lua
var restockText string

//go:embed lua/noted.lua
var notedText string

//go:embed lua/unnote.lua
var unnoteText string

//go:embed lua/count.lua
var countText string

//go:embed lua/set.lua
var setText string

//go:embed lua/drop.lua
var dropText string

//go:embed lua/evict.lua
var evictText string

//go:embed lua/scan.lua
var scanText string

//go:embed lua/settle.lua
var settleText string

//go:embed lua/id.lua
var idText string

//go:embed lua/beat.lua
var beatText string

//go:embed lua/adopt.lua
var adoptText string

//go:embed lua/seal.lua
var sealText string

//go:embed lua/take.lua
var takeText string

//go:embed lua/put.lua
var putText string

var (
	acquireScript = newScript("acquire", prelude+queueText+acquireText)
	releaseScript = newScript("release", prelude+queueText+releaseText)
	renewScript   = newScript("renew", prelude+renewText)
	lookScript    = newScript("look", prelude+lookText)
	claimScript   = newScript("claim", prelude+claimText)
	reserveScript = newScript("reserve", prelude+reserveText)
	restockScript = newScript("restock", prelude+restockText)
	notedScript   = newScript("noted", prelude+notedText)
	unnoteScript  = newScript("unnote", prelude+unnoteText)
	countScript   = newScript("count", prelude+countText)
	setScript     = newScript("set", prelude+setText)
	dropScript    = newScript("drop", prelude+dropText)
	evictScript   = newScript("evict", prelude+queueText+evictText)
	scanScript    = newScript("scan", prelude+scanText)
	pollScript    = newScript("poll", prelude+queueText+pollText)
	settleScript  = newScript("settle", prelude+queueText+settleText)
	idScript      = newScript("id", idText)
	beatScript    = newScript("beat", beatText)
	adoptScript   = newScript("adopt", adoptText)
	sealScript    = newScript("seal", sealText)
	takeScript    = newScript("take", prelude+takeText)
	putScript     = newScript("put", prelude+putText)
)

func newScript(name, text string) *script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
	return &script{name: name, text: text, sha: hex.EncodeToString(sum[:])}
}
