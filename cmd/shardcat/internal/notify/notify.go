// Package notify reports problems to an operator: by a POST to a URL, by a program, or both.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// Notifier sends messages; the zero value sends none.
type Notifier struct {
	// URL gets each message as the JSON body of a POST; anything but an answer of 2xx is an error.
	URL string
	// Program is run for each message, with the message on its standard input as one line of JSON and without arguments.
	Program string
	// Client is for the URL, http.DefaultClient if nil.
	Client *http.Client
}

// patience is the timeout of one notification.
const patience = 10 * time.Second

// Tell sends a message by every way there is. An error of one does not keep the other from being tried. Errors don't name the URL,
// which may hold a secret.
func (n *Notifier) Tell(ctx context.Context, message any) error {
	if n.URL == "" && n.Program == "" {
		return nil
	}
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	return errors.Join(n.post(ctx, text), n.run(ctx, text))
}

func (n *Notifier) post(ctx context.Context, text []byte) error {
	if n.URL == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(text))
	if err != nil {
		return errors.New("webhook: invalid URL")
	}
	r.Header.Set("Content-Type", "application/json")
	client := n.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("webhook: no response: %w", errors.Unwrap(err)) // what is around it names the URL
	}
	answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("webhook: the response is %s", answer.Status)
	}
	return nil
}

func (n *Notifier) run(ctx context.Context, text []byte) error {
	if n.Program == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	program := exec.CommandContext(ctx, n.Program)
	program.Stdin, program.Stdout, program.Stderr = bytes.NewReader(text), os.Stderr, os.Stderr
	program.WaitDelay = time.Second
	if err := program.Run(); err != nil {
		return fmt.Errorf("%s: %w", n.Program, err)
	}
	return nil
}
