#if Replication
    import Crypto

    /// An HTTP request before it is signed.
    struct S3Request: Sendable {
        enum Method: String, Sendable { case get = "GET", put = "PUT", post = "POST", delete = "DELETE" }

        var method: Method
        /// The host, with its port where that is not the scheme's own.
        var host: String
        /// The absolute path, percent-encoded by ``S3Encoding/path(_:)``.
        var path: String
        /// Names and values of the query, not encoded.
        var query: [(name: String, value: String)] = []
        /// Headers beside those that the signature adds. Their names are in lower case.
        var headers: [(name: String, value: String)] = []
        var body: [UInt8] = []

        /// The query, encoded and sorted as the signature requires.
        var encodedQuery: String {
            query.map { (S3Encoding.text($0.name), S3Encoding.text($0.value)) }
                .sorted { $0.0 != $1.0 ? $0.0 < $1.0 : $0.1 < $1.1 }
                .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        }
    }

    /// Signs requests by AWS Signature Version 4: in the header `Authorization`, over all headers and the SHA-256 of the body.
    struct S3Signer: Sendable {
        let credentials: S3Credentials
        let region: String
        var service = "s3"

        /// The headers to send: those of the request and those that the signature needs.
        ///
        /// - Parameter time: seconds since 1970.
        func headers(for request: S3Request, at time: UInt64) -> [(name: String, value: String)] {
            let stamp = S3Date.stamp(time)
            let digest = S3Signer.hexadecimal(SHA256.hash(data: request.body))
            var headers = request.headers
            headers.append(("host", request.host))
            headers.append(("x-amz-content-sha256", digest))
            headers.append(("x-amz-date", stamp))
            if let token = credentials.sessionToken { headers.append(("x-amz-security-token", token)) }
            headers.sort { $0.name < $1.name }
            let value = authorization(request, headers, stamp, digest)
            return headers + [("authorization", value)]
        }

        /// The value of `Authorization` over sorted headers.
        func authorization(
            _ request: S3Request, _ headers: [(name: String, value: String)], _ stamp: String, _ digest: String
        ) -> String {
            let names = headers.map(\.name).joined(separator: ";")
            let canonical = [
                request.method.rawValue, request.path, request.encodedQuery,
                headers.map { "\($0.name):\(S3Signer.trimmed($0.value))\n" }.joined(), names, digest,
            ].joined(separator: "\n")
            let day = String(stamp.prefix(8))
            let scope = "\(day)/\(region)/\(service)/aws4_request"
            let text = [
                "AWS4-HMAC-SHA256", stamp, scope,
                S3Signer.hexadecimal(SHA256.hash(data: Array(canonical.utf8))),
            ].joined(separator: "\n")
            var key = Array("AWS4\(credentials.secretKey)".utf8)
            for part in [day, region, service, "aws4_request"] { key = S3Signer.code(part, key) }
            let signature = S3Signer.hexadecimal(S3Signer.code(text, key))
            return
                "AWS4-HMAC-SHA256 Credential=\(credentials.keyID)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
        }

        private static func code(_ text: String, _ key: [UInt8]) -> [UInt8] {
            Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key)))
        }

        static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { ObjectName.padded(UInt64($0), 2, radix: 16) }.joined()
        }

        /// Without spaces at both ends, and with one for each run of them.
        private static func trimmed(_ value: String) -> String {
            value.split(separator: " ").joined(separator: " ")
        }
    }

    /// Percent-encoding as the signature defines it.
    enum S3Encoding {
        /// Encodes all bytes but letters, digits, `-`, `.`, `_` and `~`.
        static func text(_ text: String) -> String { encode(text, keeping: nil) }

        /// As ``text(_:)``, with slashes as they are.
        static func path(_ path: String) -> String { encode(path, keeping: UInt8(ascii: "/")) }

        private static func encode(_ text: String, keeping kept: UInt8?) -> String {
            var encoded = ""
            for byte in text.utf8 {
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    encoded.append(Character(UnicodeScalar(byte)))
                case kept: encoded.append(Character(UnicodeScalar(byte)))
                default: encoded += "%" + ObjectName.padded(UInt64(byte), 2, radix: 16).uppercased()
                }
            }
            return encoded
        }
    }

    /// Dates of requests, in UTC.
    enum S3Date {
        /// `20150830T123600Z`.
        static func stamp(_ seconds: UInt64) -> String {
            let (year, month, day) = date(daysSince1970: seconds / 86_400)
            let rest = seconds % 86_400
            func two(_ number: UInt64) -> String { ObjectName.padded(number, 2) }
            return ObjectName.padded(year, 4) + two(month) + two(day) + "T" + two(rest / 3600)
                + two(rest / 60 % 60) + two(rest % 60) + "Z"
        }

        /// The seconds of a date as HTTP writes it, `Sun, 06 Nov 1994 08:49:37 GMT`; nil for anything else.
        static func seconds(httpDate text: String) -> UInt64? {
            let parts = text.split(separator: " ")
            guard parts.count == 6, parts[5] == "GMT", let day = UInt64(parts[1]), let year = UInt64(parts[3]),
                let month = months.firstIndex(of: String(parts[2])), (1...31).contains(day),
                (1970...9999).contains(year)
            else { return nil }
            let time = parts[4].split(separator: ":").compactMap { UInt64($0) }
            guard time.count == 3, time[0] < 24, time[1] < 60, time[2] <= 60 else { return nil }
            return days(year, UInt64(month) + 1, day) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
        }

        private static let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]

        /// Years begin with March in both, so that the leap day is the last of a year.
        private static func date(daysSince1970 days: UInt64) -> (year: UInt64, month: UInt64, day: UInt64) {
            let shifted = days + 719_468
            let era = shifted / 146_097
            let dayOfEra = shifted % 146_097
            let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
            let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
            let shiftedMonth = (5 * dayOfYear + 2) / 153
            let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
            return (
                yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
            )
        }

        private static func days(_ year: UInt64, _ month: UInt64, _ day: UInt64) -> UInt64 {
            let shiftedYear = month <= 2 ? year - 1 : year
            let yearOfEra = shiftedYear % 400
            let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
            let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            return shiftedYear / 400 * 146_097 + dayOfEra - 719_468
        }
    }
#endif
