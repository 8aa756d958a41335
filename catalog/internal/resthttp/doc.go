// Package resthttp is the HTTP transport below the client of an Iceberg REST catalog.
//
//   - Each request has a timeout and each response body a limit.
//   - A failure that may pass is retried for a budget of time: reads after 5xx, timeouts and broken connections; every
//     request after 429 and where no connection was made, because nothing was done then. The outcome of a write that
//     failed in any other way is decided by the caller. Retry-After holds back every request of the transport.
//   - One token serves all requests. A refused token is renewed once per request.
//   - Requests, tokens and headers go to the host of the catalog only; what a server's configuration states to the
//     contrary is refused.
package resthttp
