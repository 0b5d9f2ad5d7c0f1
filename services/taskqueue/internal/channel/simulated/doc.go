// Package simulated owns the provider called outbox: the default of every channel without credentials. It builds the
// message as a real provider would get it (MIME text, SMS segments, FCM and WhatsApp JSON) and keeps it in the
// mailbox; nothing leaves the house. Magic recipients simulate failures.
package simulated
