package proxied

import (
	"strings"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/wire"
)

// This file says when the portals of the proxy's in the upstream that nobody reads any more must be
// closed; which they are the Conversation knows. An open portal keeps its tables from being truncated or altered, so those go before anything
// that the client wants to run there.

// isOpenUpstream says whether the upstream may have the portal open.
func isOpenUpstream(p *frontend.Portal) bool {
	return p.Upstream != "" && (p.State == frontend.PortalOpen || p.State == frontend.PortalBroken)
}

// ClosePortal has the portal closed in the upstream with the next messages, if it is open.
func (s *session) ClosePortal(p *frontend.Portal) {
	if isOpenUpstream(p) {
		s.conv.CloseLater(p.Upstream)
	}
	p.Upstream = ""
}

// closeFirst makes sure that none is left before a message goes upstream that runs something.
func (s *session) closeFirst(kind byte) drive.Verdict {
	if !s.conv.MustClose() || strings.IndexByte("QEF", kind) < 0 || s.up.Copying() {
		return frontend.OurTurn
	}
	settled, failed := s.up.Settled()
	switch {
	case !settled:
		return frontend.NeedTurn
	case failed: // nothing runs there before the next Sync
		return frontend.OurTurn
	case !s.up.IsOpen() && s.up.Status() == wire.StatusIdle: // they went with their transaction
		s.conv.Forget()
		return frontend.OurTurn
	}
	return frontend.NeedClose
}
