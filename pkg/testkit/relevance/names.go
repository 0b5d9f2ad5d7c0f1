package relevance

import "strings"

// Given names with their spellings, separated by slashes.
const givenNames = `Mohammed/Muhammad/Mohamad/Mohammad Lakshmi/Laxmi/Luxmi Geeta/Gita/Geetha Pooja/Puja Deepak/Dipak Kavitha/Kavita Srinivas/Sreenivas/Shrinivas
Farooq/Faruk/Farook Fatima/Fathima Gowri/Gauri/Gouri Vijay/Vijai Ishwar/Eswar Akshay/Akshai Ayesha/Aisha/Aysha Yusuf/Yousuf/Yoosuf Ahmed/Ahmad Krishna/Krisna
Chhaya/Chaya Bharat/Bharath Sunita/Suneeta/Sunitha Raghav/Ragav Ashish/Asheesh Wasim/Waseem/Vaseem Dhanush/Danush Jyoti/Jyothi Ananth/Anant Rahul/Raahul
Sandeep/Sandip Rajesh/Raajesh Suresh/Sooresh Ramesh/Rameesh Anjali/Anjalee Priyanka/Preeyanka Nikhil/Nikheel Amitabh/Amithabh Siddharth/Sidharth/Siddhart
Harish/Hareesh Girish/Gireesh Manish/Maneesh Satish/Sateesh/Sathish Naveen/Navin Praveen/Pravin Meena/Mina Reena/Rina Sheela/Shila Leela/Lila Neeta/Nita
Rekha/Reka Shobha/Shoba Radha/Raadha Sudha/Sudhaa Vidya/Vidhya Divya/Dhivya Karthik/Kartik Pradeep/Pradip Gopal/Gopaal Mahesh/Mahaesh Arvind/Aravind
Dinesh/Dineesh Mukesh/Mukhesh Kishore/Kishor Balakrishnan/Balakrishnen Venkatesh/Venkatesh Padmavati/Padmavathi Saraswati/Saraswathi Parvati/Parvathi
Chandrasekhar/Chandrashekhar Yogesh/Yogeesh Nagaraj/Nagaraaj Usha/Oosha Zubair/Zubair Imran/Imraan Salman/Salmaan Tarun/Taroon Varun/Varoon Kunal/Kunaal`

const familyNames = `Sharma/Sarma Chaudhary/Choudhury/Chowdhury/Chaudhari Agarwal/Aggarwal/Agrawal Mukherjee/Mukerji/Mukherji Reddy/Reddi Iyer/Ayyar/Aiyar Nair/Nayar
Rahman/Rehman Sheikh/Shaikh/Shaik Viswanathan/Vishwanathan Verma/Varma Gupta/Guptha Banerjee/Banerji/Bannerjee Chatterjee/Chatterji Bhattacharya/Bhattacharyya
Kulkarni/Kulkarnee Deshpande/Deshpandey Patil/Pateel Joshi/Joshee Mishra/Misra Pandey/Pande Tiwari/Tivari Dubey/Dube Trivedi/Trivedee Saxena/Saksena Kapoor/Kapur
Malhotra/Malhothra Khanna/Khana Bhatia/Bhatiya Ahuja/Ahooja Chopra/Chopraa Mehta/Mehtha Desai/Desaai Shetty/Shetti Hegde/Hegday Menon/Menen Pillai/Pillay
Krishnamurthy/Krishnamurti/Krishnamoorthy Subramaniam/Subramanyam Ranganathan/Ranganaathan Naidu/Naidoo Rao/Raao Goud/Gowd Yadav/Yadhav Thakur/Thakoor
Rathore/Rathor Solanki/Solankee Parmar/Parmaar Qureshi/Kureshi Ansari/Ansaari Siddiqui/Siddiqi Fernandes/Fernandez Pereira/Perera Mascarenhas/Mascarenhaas
Gonsalves/Gonzalves Bose/Bhose Ghosh/Gosh Sengupta/Senguptha Chakraborty/Chakravarty Majumdar/Mazumdar Kumar/Kumaar Jadhav/Jadav Shinde/Shindhe Gaikwad/Gaykwad`

// spelled splits a list of names into their spellings.
func spelled(list string) [][]string {
	var all [][]string
	for _, name := range strings.Fields(list) {
		all = append(all, strings.Split(name, "/"))
	}
	return all
}
