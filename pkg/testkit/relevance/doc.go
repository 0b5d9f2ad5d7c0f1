// Package relevance owns what a good answer is: patients, texts that people would type for one of them, and figures that say how
// far up that patient stands. Everything follows from a seed, so that two searches can be compared.
//
// Names are those of India in Latin letters, each in the spellings that are in use; a text of kind "sound" has another spelling than
// the patient has. A text means one patient: where others answer to it as well, it is not asked.
package relevance
