package settings

import (
	"testing"
	"time"
)

// The offsets are EXTRACT(timezone FROM ...) of 2024-01-15, 03-20, 07-15 and 11-01 on PostgreSQL 15.18.
func TestTimeZoneOffsetsAsPostgreSQL(t *testing.T) {
	tests := map[string][4]int{
		"UTC":                             {0, 0, 0, 0},
		"Europe/Berlin":                   {3600, 3600, 7200, 3600},
		"5":                               {18000, 18000, 18000, 18000},
		"-5.5":                            {-19800, -19800, -19800, -19800},
		"EST5EDT":                         {-18000, -14400, -14400, -14400},
		"foo5bar":                         {-18000, -14400, -14400, -14400},
		"CET-1CEST":                       {3600, 7200, 7200, 7200},
		"AEST-10AEDT,M10.1.0,M4.1.0/3":    {39600, 39600, 36000, 39600},
		"<+0530>-5:30":                    {19800, 19800, 19800, 19800},
		"5:30":                            {-19800, -19800, -19800, -19800},
		"a5":                              {-18000, -18000, -18000, -18000},
		"GMT-03:00":                       {10800, 10800, 10800, 10800},
		"EST5EDT4,M3.2.0/-3,M11.1.0/167":  {-18000, -14400, -14400, -14400},
		"EST5EDT,J60,J300":                {-18000, -14400, -14400, -18000},
		"interval '-02:30:15'":            {-9015, -9015, -9015, -9015},
		"EST5EDT4;M3.2.0,M11.1.0":         {-18000, -14400, -14400, -14400},
		"Asia/Kathmandu":                  {20700, 20700, 20700, 20700},
		"ab5cd6":                          {-18000, -21600, -21600, -21600},
		"X0Y":                             {0, 3600, 3600, 3600},
		"interval '2 hours 30 minutes'":   {9000, 9000, 9000, 9000},
		"America/Argentina/Buenos_Aires":  {-10800, -10800, -10800, -10800},
		":Europe/Berlin":                  {3600, 3600, 7200, 3600},
		"INTERVAL '+05:30'":               {19800, 19800, 19800, 19800},
		"<\xc3\xa9t\xc3\xa9>-1<\xc3\xa9>": {3600, 7200, 7200, 7200},
	}
	days := []time.Time{
		time.Date(2024, 1, 15, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 20, 0, 0, 0, 0, time.UTC),
		time.Date(2024, 7, 15, 0, 0, 0, 0, time.UTC), time.Date(2024, 11, 1, 12, 0, 0, 0, time.UTC),
	}
	for name, want := range tests {
		s := New(defaults(t), "joe")
		if err := s.Set("timezone", name, false); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, day := range days {
			if _, got := day.In(s.TimeZone()).Zone(); got != want[i] {
				t.Errorf("%s on %s: %d seconds east, want %d", name, day.Format(time.DateOnly), got, want[i])
			}
		}
	}
}

func TestEveryListedZoneLoads(t *testing.T) {
	for _, name := range zoneNames() {
		if zone := namedZone(name); zone == nil || zone.String() != name {
			t.Errorf("%s: %v", name, zone)
		}
	}
}
