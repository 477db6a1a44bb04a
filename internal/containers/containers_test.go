package containers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

func TestChoice(t *testing.T) {
	t.Setenv(EnvServers, "local")
	if chosen, err := Chosen(); chosen || err != nil {
		t.Errorf("local: %v, %v", chosen, err)
	}
	t.Setenv(EnvServers, "dokcer")
	if _, err := Chosen(); err == nil || !strings.Contains(err.Error(), `"dokcer"`) {
		t.Errorf("an unknown choice: %v", err)
	}
	t.Setenv(EnvServers, "containers")
	if chosen, err := Chosen(); !chosen || !errors.Is(err, engine()) {
		t.Errorf("containers: %v, %v", chosen, err)
	}
	t.Setenv(EnvServers, "")
	if chosen, err := Chosen(); chosen != (engine() == nil) || err != nil {
		t.Errorf("no choice: %v, %v", chosen, err)
	}
}

// Where an engine answers a server can be talked to; where none does the error says so.
func TestRedisInAContainer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := Start(ctx, &Server{Image: RedisImage(), Port: 6379, Args: []string{"--databases", "3"}})
	if engine() != nil {
		if err == nil || !strings.Contains(err.Error(), RedisImage()) {
			t.Errorf("without an engine: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(ctx, t, c.Addr, "CONFIG GET databases"); !strings.HasSuffix(got, "3\r\n") {
		t.Errorf("the server was not given its arguments: %q", got)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", c.Addr); err == nil {
		conn.Close()
		t.Error("the server is reachable after its end")
	}
}

// ask sends one command to a Redis as soon as it listens, and gives the answer of two
// elements.
func ask(ctx context.Context, t *testing.T, addr, command string) string {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		answer, err := tryAsk(addr, command)
		if err == nil {
			return answer
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

func tryAsk(addr, command string) (answer string, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	for lines := bufio.NewReader(conn); strings.Count(answer, "\n") < 5; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", err
		}
		answer += line
	}
	return answer, nil
}
