#if Replication
    import Testing

    @testable import MakoReplication

    /// Addresses, keys and documents of S3.
    @Suite struct S3SetupTests {
        private func environment(_ variables: [String: String], _ files: [String: String] = [:]) -> S3Environment {
            S3Environment(variables: variables) { files[$0] }
        }

        private static let files = [
            "/accounts/ada/.aws/credentials": """
            # keys
            [default]
            aws_access_key_id = FILE
            aws_secret_access_key=file/secret=

            [work]
            aws_access_key_id = WORK
            aws_secret_access_key = work
            aws_session_token = token
            """,
            "/accounts/ada/.aws/config": """
            [default]
            region = eu-west-1
            s3 =
                addressing_style = path
            [profile work]
            region = eu-central-1
            endpoint_url = https://objects.example.org
            [profile configured]
            aws_access_key_id = CONFIG
            aws_secret_access_key = config
            [profile login]
            sso_session = company
            """,
        ]

        @Test func keysComeFromVariablesThenFromTheProfile() throws {
            let home = ["HOME": "/accounts/ada"]
            let keys = ["AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "env", "AWS_PROFILE": "work"]
            let both = environment(home.merging(keys) { $1 }, Self.files)
            #expect(try both.credentials() == S3Credentials(keyID: "ENV", secretKey: "env"))
            let file = environment(home, Self.files)
            #expect(try file.credentials() == S3Credentials(keyID: "FILE", secretKey: "file/secret="))
            #expect(file.region == "eu-west-1")
            let work = environment(home.merging(["AWS_PROFILE": "work"]) { $1 }, Self.files)
            #expect(try work.credentials() == S3Credentials(keyID: "WORK", secretKey: "work", sessionToken: "token"))
            #expect(work.region == "eu-central-1")
            #expect(work.endpoint == "https://objects.example.org")
            let configured = environment(home.merging(["AWS_PROFILE": "configured"]) { $1 }, Self.files)
            #expect(try configured.credentials().keyID == "CONFIG")
        }

        @Test func withoutKeysTheErrorNamesThePlaces() throws {
            for (profile, word) in [("missing", "profile 'missing'"), ("login", "sso_session")] {
                let environment = environment(["HOME": "/accounts/ada", "AWS_PROFILE": profile], Self.files)
                #expect {
                    _ = try environment.credentials()
                } throws: { error in
                    guard case ObjectStoreError.setup(.noCredentials, let reason) = error else { return false }
                    return reason.contains(word) && reason.contains("AWS_ACCESS_KEY_ID")
                        && reason.contains("/accounts/ada/.aws/credentials")
                }
            }
        }

        @Test func secretsAreNotPrinted() {
            let keys = S3Credentials(keyID: "ID", secretKey: "hidden", sessionToken: "hidden")
            #expect(!"\(keys)".contains("hidden"))
        }

        private func place(_ url: String, _ change: (inout S3Options) -> Void = { _ in }) throws -> S3Place {
            var options = try S3Options(url: url)
            options.credentials = S3Credentials(keyID: "a", secretKey: "b")
            change(&options)
            return try S3Place(options, environment([:]))
        }

        @Test func bucketsAreInTheHostAtAWSAndInThePathElsewhere() throws {
            let host = try place("s3://backups/mako/") { $0.region = "eu-central-1" }
            #expect(host.host == "backups.s3.eu-central-1.amazonaws.com")
            #expect([host.scheme, host.basePath, host.bucketPath] == ["https", "/", "/"])
            let dots = try place("s3://backups.example")
            #expect(dots.host == "s3.us-east-1.amazonaws.com")
            #expect([dots.basePath, dots.bucketPath] == ["/backups.example/", "/backups.example"])
            let other = try place("s3://backups") { $0.endpoint = "http://LOCALHOST:8333/base/" }
            #expect([other.scheme, other.host, other.basePath] == ["http", "localhost:8333", "/base/backups/"])
            let virtual = try place("s3://backups") { ($0.endpoint, $0.addressing) = ("https://o.example:443", .host) }
            #expect(virtual.host == "backups.o.example")
        }

        @Test(arguments: [
            "http://bucket", "s3://", "s3:///prefix", "s3://B", "s3://Bucket", "s3://a_b_c", "s3://-ab", "s3://a..b",
            "s3://bucket//a", "s3://bucket/a//b", "s3://bucket/../a", "s3://bucket/a/.", "s3://bucket/a\nb",
        ]) func otherAddressesAreRefused(_ url: String) {
            #expect {
                _ = try S3Options(url: url)
            } throws: { error in
                if case ObjectStoreError.setup(.invalidAddress, _) = error { true } else { false }
            }
        }

        @Test(arguments: ["localhost:8333", "ftp://host", "http://", "https://user:secret@host", "https://host?a=b"])
        func otherEndpointsAreRefused(_ endpoint: String) {
            #expect(throws: ObjectStoreError.self) { try place("s3://bucket") { $0.endpoint = endpoint } }
        }

        @Test func documentsAreRead() {
            let text = "<?xml version=\"1.0\"?>\n<A x=\"1\"><B>1 &lt; 2 &#x41;&#66;</B><C/><B>z</B></A>\n"
            let root = S3Document.parse(Array(text.utf8))
            #expect(root?.name == "A")
            #expect(root?.all("B").map(\.text) == ["1 < 2 AB", "z"])
            #expect(root?.child("C")?.children == [])
        }

        @Test(arguments: [
            "", "text", "<A>", "<A></B>", "<A/><B/>", "<A>&amp</A>", "<A>&nbsp;</A>", "<A", "</A>", "<A></A>x",
            "<!DOCTYPE a><A/>", "<A><![CDATA[x]]></A>", "<></>", String(repeating: "<a>", count: 1000),
        ]) func otherDocumentsAreRefused(_ text: String) { #expect(S3Document.parse(Array(text.utf8)) == nil) }
    }
#endif
