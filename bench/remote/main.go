// Command remote is the Go side of measure.py beside it:
//
//	remote proxy -to http://127.0.0.1:9000 -delay 30ms    a proxy before an S3 server that delays and counts requests; prints its URL
//	remote writers -catalog URI -warehouse URL …          appends to one table by many writers; prints what it measured as JSON
//	remote appends …, remote year …, remote scans …      this project's side of these parts; prints requests as JSON
package main

import (
	"fmt"
	"os"
)

func main() {
	err := fmt.Errorf("usage: remote proxy|writers|appends|year|scans [flags]")
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "proxy":
			err = proxy(os.Args[2:])
		case "writers":
			err = writers(os.Args[2:])
		case "appends":
			err = appends(os.Args[2:])
		case "year":
			err = year(os.Args[2:])
		case "scans":
			err = scans(os.Args[2:])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "remote:", err)
		os.Exit(1)
	}
}
