// Package relevance measures the quality of a search: it contains patients, texts that users would type to find one of
// them, and figures about the rank of that patient. Everything is derived from a seed, so that two searches can be
// compared.
//
// Names are Indian names in Latin letters in their common spellings; a text of kind "sound" uses another spelling than
// the patient's. Each text has one expected patient; texts that also match other patients are not used.
package relevance
