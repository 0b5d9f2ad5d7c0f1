package engine

import "github.com/labplatform/labplatform/services/taskqueue/internal/job"

// tags are the hash tags of the shards: all keys of a shard are on the slot of its tag. However many shards there are,
// their slots lie evenly on the ring of 16,384, each one in the largest gap of those before, so that every node of a
// cluster with equal parts holds as many shards as the others, or one more. A tag begins with the shard's number; the
// letters only choose the slot. Tags are names of stored data: they never change.
var tags = [job.MaxShards]string{
	"00", "01bfax", "02anua", "03agyl", "04agmo", "05afhz", "06bwwk", "07bgpn", "08bqwc", "09bapf",
	"10abda", "11acat", "12bgpx", "13bfum", "14bbmc", "15bchv", "16anbc", "17agnn", "18bdre", "19bewp",
	"20aiwq", "21ahrd", "22bhoe", "23bach", "24amge", "25adkh", "26bdvi", "27bmzd", "28bqcu", "29badp",
	"30bhjr", "31biog", "32acmj", "33ajag", "34afpq", "35agud", "36bcdh", "37bjhe", "38aitn", "39aqzs",
	"40beks", "41bdnf", "42adsg", "43aevr", "44boiv", "45bnlc", "46bdkg", "47benr", "48bgda", "49bfat",
	"50aeus", "51adpf", "52bhhr", "53bimg", "54bmui", "55bdyd", "56blxf", "57betk", "58anax", "59agmu",
	"60aafs", "61aqav", "62abmz", "63acho", "64bjzg", "65bcvj", "66ackk", "67ajgf", "68eaks", "69blru",
	"70agoj", "71ancg", "72afbe", "73aggp", "74akvf", "75abzk", "76adix", "77aelm", "78aljc", "79aefn",
	"80aeny", "81adkl", "82bdvm", "83besx", "84bmnc", "85bdbn", "86alvw", "87aezz", "88afsj", "89avto",
	"90bdbx", "91begm", "92brvn", "93bbqk", "94adzx", "95amvu", "96bffy", "97bgcl", "98cgmn", "99aezr",
}
