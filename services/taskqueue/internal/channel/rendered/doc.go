// Package rendered owns the outbox provider: the default of every channel without credentials. It builds the
// message as a real provider would get it (MIME text, SMS segments, FCM and WhatsApp JSON) and keeps it in the
// development outbox; nothing leaves the house. Magic recipients simulate failures.
package rendered
