package bench

import "testing"

// Each way to scan a column reads all rows.
func TestScanAgainstBareLoop(t *testing.T) {
	columns, err := FileColumns(t.TempDir(), 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range columns {
		for _, c := range Scans(f) {
			run, err := c.Open()
			if err != nil {
				t.Fatal(f.Name, err)
			}
			if err := run(); err != nil {
				t.Errorf("%s: %s: %v", f.Name, c.Name, err)
			}
		}
	}
}

func BenchmarkScan(b *testing.B) {
	columns, err := FileColumns(b.TempDir(), Values)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range columns {
		b.Run(f.Name, func(b *testing.B) {
			for range b.N {
				results, err := MeasureProcess(Scans(f))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(1e9*results[0].Seconds/float64(f.Rows), "bare-ns/value")
				for i, name := range []string{"", "bare+read", "bare+read+fresh", "scan", "reused"}[:len(results)] {
					if i > 0 {
						b.ReportMetric(results[i].Seconds/results[0].Seconds, name+"/bare")
					}
				}
			}
		})
	}
}
