#if Replication
    import Foundation

    /// Where the objects of an ``S3ObjectStore`` are, and how it reaches them.
    ///
    /// ```swift
    /// var options = try S3Options(url: "s3://backups/mako")
    /// options.region = "eu-central-1"
    /// ```
    public struct S3Options: Sendable {
        /// How a bucket is named in a request.
        public enum Addressing: Sendable, Hashable {
            /// As a part of the host at AWS, as a part of the path at other endpoints and for names with dots.
            case automatic
            /// As a part of the host.
            case host
            /// As a part of the path.
            case path
        }

        /// The name of the bucket.
        public var bucket: String
        /// Precedes the names of all objects, without a slash at the end; empty: none.
        public var prefix: String
        /// The region of the bucket; nil: `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile, else `us-east-1`.
        public var region: String?
        /// The URL of the service; nil: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, the profile, else AWS.
        public var endpoint: String?
        /// The keys; nil: the environment variables, else the profile in the files of the AWS tools.
        public var credentials: S3Credentials?
        /// How the bucket is named in a request.
        public var addressing = Addressing.automatic
        /// A request without any progress for so many seconds counts as failed.
        public var timeout: Double = 30
        /// How often a request is sent at most when the service is busy or does not answer.
        public var attempts = 6

        /// Creates options; what is nil comes from the environment or from the profile.
        public init(bucket: String, prefix: String = "", region: String? = nil, endpoint: String? = nil) {
            self.bucket = bucket
            self.prefix = prefix
            self.region = region
            self.endpoint = endpoint
        }

        /// Creates options from `s3://bucket/prefix`.
        ///
        /// - Throws: ``ObjectStoreError/setup(_:reason:)`` for anything else.
        public init(url: String) throws(ObjectStoreError) {
            guard url.hasPrefix("s3://") else {
                throw .setup(.invalidAddress, reason: "'\(url)' does not begin with s3://")
            }
            let parts = url.dropFirst(5).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            var prefix = parts.count > 1 ? parts[1] : ""
            if prefix.hasSuffix("/") { prefix.removeLast() }
            self.init(bucket: String(parts[0]), prefix: String(prefix))
            try check()
        }

        /// Refuses names that S3 does not have, and prefixes that clients normalise differently.
        func check() throws(ObjectStoreError) {
            let isBucket =
                (3...63).contains(bucket.utf8.count)
                && bucket.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                        UInt8(ascii: "-"), UInt8(ascii: "."):
                        true
                    default: false
                    }
                }
            guard isBucket, bucket.first != "-", bucket.first != ".", !bucket.contains("..") else {
                throw .setup(
                    .invalidAddress,
                    reason: "'\(bucket)' is no name of a bucket: 3 to 63 lower-case letters, digits, '-' and '.'")
            }
            guard !prefix.isEmpty else { return }
            let parts = prefix.split(separator: "/", omittingEmptySubsequences: false)
            guard prefix.utf8.count <= 512, !prefix.utf8.contains(where: { $0 < 32 || $0 == 127 }),
                parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." })
            else {
                throw .setup(
                    .invalidAddress,
                    reason: "'\(prefix)' is no prefix: at most 512 bytes, without empty parts, '.' and '..'")
            }
        }
    }

    /// The options with all that the environment adds.
    struct S3Place: Sendable {
        let scheme: String
        let host: String
        /// The path before the name of an object, encoded; it ends with a slash.
        let basePath: String
        let bucketPath: String
        let region: String
        let credentials: S3Credentials

        init(_ options: S3Options, _ environment: S3Environment) throws(ObjectStoreError) {
            try options.check()
            region = options.region ?? environment.region ?? "us-east-1"
            let isRegion = !region.isEmpty && region.utf8.allSatisfy { $0 != 0x2f && $0 > 0x20 && $0 < 0x7f }
            guard isRegion else { throw .setup(.wrongRegion(nil), reason: "'\(region)' is no name of a region") }
            let endpoint = options.endpoint ?? environment.endpoint
            let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
            let text = endpoint ?? "https://s3.\(region).\(domain)"
            guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
                scheme == "http" || scheme == "https", let name = url.host?.lowercased(), !name.isEmpty,
                url.query == nil, url.fragment == nil, url.user == nil
            else {
                throw .setup(.invalidAddress, reason: "the endpoint '\(text)' is no URL such as https://host:port")
            }
            let port = url.port.flatMap { $0 == (scheme == "http" ? 80 : 443) ? nil : ":\($0)" } ?? ""
            let isHost: Bool
            switch options.addressing {
            case .automatic: isHost = endpoint == nil && !options.bucket.contains(".")
            case .host: isHost = true
            case .path: isHost = false
            }
            var path = url.percentEncodedPath
            while path.hasSuffix("/") { path.removeLast() }
            self.scheme = scheme
            host = (isHost ? "\(options.bucket)." : "") + name + port
            bucketPath = isHost ? path + "/" : "\(path)/\(options.bucket)"
            basePath = isHost ? path + "/" : "\(path)/\(options.bucket)/"
            if let given = options.credentials {
                credentials = given
            } else {
                credentials = try environment.credentials()
            }
        }
    }
#endif
