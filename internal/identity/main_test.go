package identity

import (
	"testing"

	"raisinproxy/pgwire/wiretest"
)

func TestMain(m *testing.M) { wiretest.Main(m) }
