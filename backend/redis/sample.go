package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// sample is what INFO tells of a server that matters here.
type sample struct {
	node
	replID2  string // the history that this one continues; "" for none
	second   int64  // up to which offset it does
	master   bool
	sentinel bool // it is none of the servers with data
	loading  bool
	aof      bool
	policy   string // maxmemory-policy
	uptime   time.Duration
}

// infoSource is a client or a connection.
type infoSource interface {
	Info(ctx context.Context, sections ...string) *goredis.StringCmd
}

func takeSample(ctx context.Context, from infoSource) (sample, error) {
	text, err := from.Info(ctx).Result()
	if err != nil {
		return sample{}, err
	}
	info := parseInfo(text)
	s := sample{
		node:    nodeOf(info),
		replID2: info["master_replid2"],
		master:  info["role"] == "master",
		loading: info["loading"] == "1",
		aof:     info["aof_enabled"] == "1",
		policy:  info["maxmemory_policy"],
	}
	s.RunID = info["run_id"]
	s.second, _ = strconv.ParseInt(info["second_repl_offset"], 10, 64)
	seconds, _ := strconv.ParseInt(info["uptime_in_seconds"], 10, 64)
	s.uptime = time.Duration(seconds) * time.Second
	if strings.Trim(s.replID2, "0") == "" {
		s.replID2 = ""
	}
	if s.sentinel = info["redis_mode"] == "sentinel"; s.sentinel {
		return s, nil
	}
	if s.RunID == "" || s.ReplID == "" {
		return sample{}, errors.New("INFO has no run_id or no master_replid")
	}
	return s, nil
}

func nodeOf(info map[string]string) node {
	offset, _ := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	return node{ReplID: info["master_replid"], Offset: offset}
}
