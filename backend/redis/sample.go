package redis

import (
	"cmp"
	"context"
	"errors"
	"slices"
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
		node:    node{ReplID: info["master_replid"]},
		replID2: info["master_replid2"],
		master:  info["role"] == "master",
		loading: info["loading"] == "1",
		aof:     info["aof_enabled"] == "1",
		policy:  info["maxmemory_policy"],
	}
	s.RunID = info["run_id"]
	// What a look finds nobody was told of by that; what a replica has will hardly be lost.
	if have := offsetsOfReplicas(info); len(have) > 0 {
		s.Offset = have[0]
	}
	s.second, _ = strconv.ParseInt(info["second_repl_offset"], 10, 64)
	seconds, _ := strconv.ParseInt(info["uptime_in_seconds"], 10, 64)
	s.uptime = time.Duration(seconds) * time.Second
	if strings.Trim(s.replID2, "0") == "" {
		s.replID2 = ""
	}
	if _, s.sentinel = info["sentinel_masters"]; s.sentinel { // Redis has redis_mode too, Valkey calls that server_mode
		return s, nil
	}
	if s.RunID == "" || s.ReplID == "" {
		return sample{}, errors.New("INFO has no run_id or no master_replid")
	}
	return s, nil
}

// acknowledged is how far a history has come as far as anybody was told. With wait replicas to
// wait for that is how far so many of them have said to be, since what they lack nobody was told of.
func acknowledged(info map[string]string, wait int) int64 {
	if wait == 0 {
		return nodeOf(info).Offset
	}
	have := offsetsOfReplicas(info)
	if len(have) < wait {
		return 0
	}
	return have[wait-1]
}

// offsetsOfReplicas is how far the replicas are, the one that is furthest first.
func offsetsOfReplicas(info map[string]string) []int64 {
	var offsets []int64
	for i := 0; ; i++ {
		replica, ok := info["slave"+strconv.Itoa(i)]
		if !ok {
			break
		}
		for field := range strings.SplitSeq(replica, ",") {
			if text, ok := strings.CutPrefix(field, "offset="); ok {
				offset, _ := strconv.ParseInt(text, 10, 64)
				offsets = append(offsets, offset)
			}
		}
	}
	slices.SortFunc(offsets, func(a, b int64) int { return cmp.Compare(b, a) })
	return offsets
}

func nodeOf(info map[string]string) node {
	offset, _ := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	return node{ReplID: info["master_replid"], Offset: offset}
}
