// Written by scripts/s3-signatures, with botocore as the signer.
// swift-format-ignore-file

#if Replication
    struct BotocoreSignature: Sendable {
        var method, region, host, path: String
        var query, headers: [(String, String)]
        var body: String
        var token: String?
        var time: UInt64
        var secret, authorization: String

        static let all: [BotocoreSignature] = [
            BotocoreSignature(
                method: "DELETE", region: "eu-central-1", host: "127.0.0.1:8333", path: "/__1/.=/ä-",
                query: [("bz-bb-", "cä+b%b"), ("z-az", "a= +%"), ("-", " ä&a+"), ("uploads", "")], headers: [], body: "", token: nil, time: 1690682099, secret: "secret/+0",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20230730/eu-central-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=c88f672d2c3cf20f63711ddc21dec0b6acf5dbdabb85218efb6fbfa3900a15e9"),
            BotocoreSignature(
                method: "DELETE", region: "garage", host: "127.0.0.1:8333", path: "/b0a/ä(c/c1~a= 1",
                query: [("ab", "/%=c"), ("-ab", "äcä=bb"), ("b", "cc="), ("uploads", "")], headers: [], body: "", token: "k+oktko=t/kt/tko++", time: 2446347322, secret: "secret/+1",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20470710/garage/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=ae76e12bc5a47c2f6223eacbe33bf8bbade7186cd92898916e5602d7dd453833"),
            BotocoreSignature(
                method: "DELETE", region: "eu-central-1", host: "backups.s3.eu-central-1.amazonaws.com", path: "/9b/=)_~_~",
                query: [], headers: [], body: "", token: nil, time: 1938896856, secret: "secret/+2",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20310610/eu-central-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=ca442aeba2e65cb5e704e1ec038e7fd2eab61f124db4bba7a1e6874dce495943"),
            BotocoreSignature(
                method: "PUT", region: "eu-central-1", host: "backups.s3.eu-central-1.amazonaws.com", path: "/)(/c€~ ä",
                query: [("-z-", "äc/=ää")], headers: [("if-none-match", "*")], body: "oydodbddoodyoyd", token: nil, time: 1015540342, secret: "secret/+3",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20020307/eu-central-1/s3/aws4_request, SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date, Signature=d641e5bd07ffb1bc37fc09bdcaf4d4143b58a471ebfa431f1e1f933fbc09ad6a"),
            BotocoreSignature(
                method: "GET", region: "garage", host: "s3.example.org", path: "/€",
                query: [("b-bz--", "%ää/ "), ("aazaaa", "/+%ä")], headers: [], body: "", token: "++ok", time: 2979216695, secret: "secret/+4",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20640528/garage/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=39d1a58da47f4fa59202af3e00d55d1453f32442e0c5d5fabd7d1fcaab9f64bd"),
            BotocoreSignature(
                method: "POST", region: "us-east-1", host: "127.0.0.1:8333", path: "/(9+.-.)/9ää9c_)",
                query: [("uploads", "")], headers: [], body: "ybdbdbdydoobybbdodoybyooby", token: "=kt/o/o=k", time: 3802889490, secret: "secret/+5",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20900704/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=4f256d128fb6b81a3ff8132d1060ecaa1d634fcb66d58fbc29ee88f08950b471"),
            BotocoreSignature(
                method: "GET", region: "garage", host: "s3.example.org", path: "/11c",
                query: [], headers: [], body: "", token: nil, time: 1715386332, secret: "secret/+6",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240511/garage/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=85598cda3c52e624bb593dcb57166b3621dbd1dcc5dd671e796bad87d4d62bdf"),
            BotocoreSignature(
                method: "POST", region: "garage", host: "127.0.0.1:8333", path: "/ b /-~901ä€/_",
                query: [("ab-abb", "+/+ä"), ("-", "/"), ("ba", "%//"), ("uploads", "")], headers: [], body: "bbdodddbydoobd", token: nil, time: 2800021405, secret: "secret/+7",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20580923/garage/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=154dde8cd6690ec400461a431db2a76aa80ebd409d7b46dd91d5fa441a55ccbd"),
            BotocoreSignature(
                method: "PUT", region: "us-east-1", host: "s3.example.org", path: "/-/.90(",
                query: [], headers: [("if-none-match", "*")], body: "o", token: "=ktko/", time: 2849536791, secret: "secret/+8",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20600418/us-east-1/s3/aws4_request, SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=9b09550bba96dcfecab005d532953f3a1ecde0dbf57f603cace53bbb1757b540"),
            BotocoreSignature(
                method: "PUT", region: "us-east-1", host: "s3.example.org", path: "/)c9_ (1",
                query: [("azbb-", "b="), ("bbb-b", "/c"), ("abbb--", "%b /+")], headers: [("if-none-match", "*")], body: "yobbbybdobd", token: "t//ko=kto", time: 2479912662, secret: "secret/+9",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20480801/us-east-1/s3/aws4_request, SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=47292a6960ec747d4f5a14c82208e88f56182cf90132c1faed2d07c7959375fc"),
            BotocoreSignature(
                method: "DELETE", region: "us-east-1", host: "s3.example.org", path: "/-)ba+/1c=a",
                query: [("-bb", "a"), ("b", " +")], headers: [], body: "", token: nil, time: 1302617361, secret: "secret/+10",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20110412/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=46f3e80ffdd92011266ef509522aafaaf65dabcfc5978aa461719677f438c5d6"),
            BotocoreSignature(
                method: "GET", region: "eu-central-1", host: "127.0.0.1:8333", path: "/c+ä(=. /0.€_cb/. 0.",
                query: [("bb--a", "/b=ba"), ("---", "% ä")], headers: [("range", "bytes=0-11")], body: "", token: nil, time: 1454582851, secret: "secret/+11",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20160204/eu-central-1/s3/aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=332dbbfb210cdedbb44a8eb8fbd81956c4e8513669795e41eeb7e928c47afd08"),
            BotocoreSignature(
                method: "POST", region: "eu-central-1", host: "127.0.0.1:8333", path: "/)ä ca",
                query: [], headers: [], body: "oyoybbbdoobbydoodoybd", token: nil, time: 2798035397, secret: "secret/+12",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20580831/eu-central-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=10a39bccbcbc625db2fb97fc29a1e12f4b9d2214c1089f9580b2a843622ad2e0"),
            BotocoreSignature(
                method: "DELETE", region: "garage", host: "127.0.0.1:8333", path: "/€~.9.",
                query: [("uploads", "")], headers: [], body: "", token: nil, time: 1299954333, secret: "secret/+13",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20110312/garage/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=83bdd3323423c3580c39e5abc64f4ddb11b3ed6b47c9f47a4a865e023a2bf69e"),
            BotocoreSignature(
                method: "POST", region: "eu-central-1", host: "backups.s3.eu-central-1.amazonaws.com", path: "/ä-€~)",
                query: [("zb-zb", "+%"), ("bz", "%b %=")], headers: [], body: "bdybbybyybbbobodobo", token: nil, time: 2333612347, secret: "secret/+14",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20431213/eu-central-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=913cdb9166d7ef7ab55166ee440cbc96683d216a8a42c6e73bc6cb98ab267259"),
            BotocoreSignature(
                method: "PUT", region: "garage", host: "s3.example.org", path: "/c0 a/~= €/)",
                query: [("zbzb", "+"), ("bb--bz", "c%%/a"), ("uploads", "")], headers: [("if-none-match", "*")], body: "dooybbdddodbdbdyoob", token: "+++", time: 3336935115, secret: "secret/+15",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20750928/garage/s3/aws4_request, SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=52a36e820f7dc625f2061524f95ff16a79f2bc862ab2b7676b0ae827ff53819f"),
            BotocoreSignature(
                method: "DELETE", region: "eu-central-1", host: "s3.example.org", path: "/.0-+1c./a+/ _0~.(1",
                query: [("bzazbb", "%%c/")], headers: [], body: "", token: nil, time: 1397155923, secret: "secret/+16",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20140410/eu-central-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=28147aa125f5ce5205ad90e47121aa5c96e43d106c32ee55afcaff9aa6d1e854"),
            BotocoreSignature(
                method: "POST", region: "us-east-1", host: "backups.s3.eu-central-1.amazonaws.com", path: "/cä~_€b1)",
                query: [], headers: [], body: "odbbbobyoyybobooyo", token: nil, time: 3359289594, secret: "secret/+17",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20760613/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=aa247e909e61691009e042a554a19a25525036cd6c4bde98bf0c2fe2965b4951"),
            BotocoreSignature(
                method: "DELETE", region: "eu-central-1", host: "s3.example.org", path: "/~",
                query: [], headers: [], body: "", token: nil, time: 3446321064, secret: "secret/+18",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20790317/eu-central-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=acae6dd9435acc86adc645cf58cfcf1af0b120036bf0efaa90841607a55d20d2"),
            BotocoreSignature(
                method: "DELETE", region: "eu-central-1", host: "backups.s3.eu-central-1.amazonaws.com", path: "/+1b +",
                query: [("-zbz-a", "=/ä/")], headers: [], body: "", token: nil, time: 1130226670, secret: "secret/+19",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20051025/eu-central-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=d7aa99f7bcad1e78a063728cca43f2b489154b26c7334080584a1a629b9669ed"),
            BotocoreSignature(
                method: "POST", region: "us-east-1", host: "127.0.0.1:8333", path: "/9/~. =/=9.+9a",
                query: [("--z-z", "c+äcäa")], headers: [], body: "oyobydyddobbooyooy", token: nil, time: 1988178979, secret: "secret/+20",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20330101/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=df30232ddbb2dd42cd0b527f10e99ec31d1e659e176bd749cb483df4afba1499"),
            BotocoreSignature(
                method: "POST", region: "us-east-1", host: "127.0.0.1:8333", path: "/c",
                query: [("bz-z", "ac%=ä"), ("-zzbb-", "+c&&&"), ("--", "ä/%&ä")], headers: [], body: "ybyo", token: "t++kt=oot/+/tto/", time: 1810911784, secret: "secret/+21",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20270521/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=f1526d5dda989ebb302c4a943d3dcfc09c98ecd3be1bb52778038d2f4011e31d"),
            BotocoreSignature(
                method: "PUT", region: "us-east-1", host: "backups.s3.eu-central-1.amazonaws.com", path: "/bb-b-_",
                query: [("ab", "/&++")], headers: [("if-none-match", "*")], body: "dodbyboboydddoyddyybybdbdbbyd", token: nil, time: 1015173518, secret: "secret/+22",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20020303/us-east-1/s3/aws4_request, SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date, Signature=81f25acb1cfa93e0fde8b88848475b42db9d4e37d17ac99b04051ba058b2c0f9"),
            BotocoreSignature(
                method: "PUT", region: "eu-central-1", host: "backups.s3.eu-central-1.amazonaws.com", path: "/. .=9_/ccäcc",
                query: [("z", "+  a")], headers: [("if-none-match", "*")], body: "dyobddoydyoobbobdd", token: nil, time: 1256517224, secret: "secret/+23",
                authorization: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20091026/eu-central-1/s3/aws4_request, SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date, Signature=56ac56eb76f1e296dd6c4712cc1ae8ea534006089fb086276b1b7672939bcd24"),
        ]
    }
#endif
