#if Replication
    import Testing

    @testable import MakoReplication

    /// Signature Version 4, compared with the examples of AWS and with another signer.
    @Suite struct S3SignatureTests {
        private func signature(_ authorization: String) -> Substring? { authorization.split(separator: "=").last }

        /// `get-vanilla` and two more of AWS's test suite, which sign host and date alone.
        @Test(
            arguments: [
                ("/", [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
                (
                    "/", [("Param2", "value2"), ("Param1", "value1")],
                    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
                ),
                ("/%E1%88%B4", [], "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
            ] as [(String, [(String, String)], String)])
        func examplesOfTheTestSuite(_ path: String, _ query: [(String, String)], _ expected: String) {
            let keys = S3Credentials(keyID: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
            let signer = S3Signer(credentials: keys, region: "us-east-1", service: "service")
            let request = S3Request(method: .get, host: "example.amazonaws.com", path: path, query: query)
            let headers = [("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")]
            let value = signer.authorization(
                request, headers, "20150830T123600Z",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
            #expect(signature(value) == Substring(expected))
        }

        /// The examples in the documentation of S3.
        @Test func examplesOfS3() {
            let keys = S3Credentials(
                keyID: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
            let signer = S3Signer(credentials: keys, region: "us-east-1")
            let host = "examplebucket.s3.amazonaws.com"
            func signed(_ request: S3Request) -> Substring? {
                signature(signer.headers(for: request, at: 1_369_353_600).last?.value ?? "")
            }
            var get = S3Request(method: .get, host: host, path: "/test.txt")
            get.headers = [("range", "bytes=0-9")]
            #expect(signed(get) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
            var put = S3Request(method: .put, host: host, path: S3Encoding.path("/test$file.text"))
            put.headers = [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")]
            put.body = Array("Welcome to Amazon S3.".utf8)
            #expect(signed(put) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
            let list = S3Request(method: .get, host: host, path: "/", query: [("prefix", "J"), ("max-keys", "2")])
            #expect(signed(list) == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
        }

        @Test(arguments: BotocoreSignature.all) func signaturesAreThoseOfBotocore(_ sample: BotocoreSignature) throws {
            let keys = S3Credentials(keyID: "AKIDEXAMPLE", secretKey: sample.secret, sessionToken: sample.token)
            var request = S3Request(
                method: try #require(S3Request.Method(rawValue: sample.method)), host: sample.host,
                path: S3Encoding.path(sample.path), query: sample.query, headers: sample.headers)
            request.body = Array(sample.body.utf8)
            let signed = S3Signer(credentials: keys, region: sample.region).headers(for: request, at: sample.time)
            #expect(signed.last?.value == sample.authorization)
        }

        @Test(
            arguments: [
                (0, "19700101T000000Z"), (951_782_399, "20000228T235959Z"), (951_782_400, "20000229T000000Z"),
                (1_440_938_160, "20150830T123600Z"), (4_107_542_400, "21000301T000000Z"),
            ] as [(UInt64, String)])
        func datesAreThoseOfTheCalendar(_ seconds: UInt64, _ stamp: String) { #expect(S3Date.stamp(seconds) == stamp) }

        @Test func datesOfHTTPAreRead() {
            #expect(S3Date.seconds(httpDate: "Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
            #expect(S3Date.seconds(httpDate: "Tue, 29 Feb 2000 00:00:00 GMT") == 951_782_400)
            for text in [
                "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 28:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
            ] {
                #expect(S3Date.seconds(httpDate: text) == nil)
            }
        }
    }
#endif
