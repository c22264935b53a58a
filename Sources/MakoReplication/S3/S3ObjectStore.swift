#if Replication
    import MakoStorage

    /// Objects in a bucket of Amazon S3, or of a service that speaks its protocol and honours `If-None-Match: *`.
    ///
    /// Requests are signed by Signature Version 4, with keys from the options, the environment variables or the files of the AWS tools. Requests to a
    /// busy service are repeated with growing delays. A put whose answer is lost and that finds an object when it is repeated throws
    /// ``ObjectStoreError/exists(name:)``: a ``Replicator`` then compares the object with its own log.
    ///
    /// ```swift
    /// let objects = try S3ObjectStore(S3Options(url: "s3://backups/mako"))
    /// let replicator = try Replicator(store, to: objects)
    /// ```
    public struct S3ObjectStore: ObjectStore {
        /// What the objects are needed for.
        public enum Access: Sendable, Hashable {
            /// Marks the prefix where it is empty, and checks that the service honours conditions.
            case writing
            /// Needs permission to list and to read only.
            case reading
        }

        let client: S3Client
        private let prefix: String
        let partBytes: UInt64
        private let pageNames: Int
        /// Whether uploads in parts are known to honour conditions.
        let partsHonourConditions = Guarded(false)

        /// Names a prefix as one of objects. Object names never begin with a dot.
        static let marker = ".mako-objects"
        static let markerContent = Array("Mako objects 1\n".utf8)
        private static let partBytes: UInt64 = 16 << 20
        private static let mostListed = 1000

        /// Attaches to a prefix of a bucket, and marks it where it is empty.
        ///
        /// - Throws: ``ObjectStoreError/setup(_:reason:)`` with what to change, ``ObjectStoreError/foreign(path:reason:)`` when the prefix holds
        ///   other objects.
        /// - Complexity: two requests; four the first time.
        public init(_ options: S3Options, for access: Access = .writing) throws(ObjectStoreError) {
            try self.init(options, for: access, .current)
        }

        /// - Parameter client: sets what tests replace.
        init(
            _ options: S3Options, for access: Access, _ environment: S3Environment,
            partBytes: UInt64 = S3ObjectStore.partBytes, pageNames: Int = S3ObjectStore.mostListed,
            _ client: ((S3Place) -> S3Client)? = nil
        ) throws(ObjectStoreError) {
            let place = try S3Place(options, environment)
            self.client =
                client?(place)
                ?? S3Client(
                    place: place, transport: S3URLTransport(timeout: options.timeout), bucket: options.bucket,
                    attempts: options.attempts)
            self.partBytes = partBytes
            self.pageNames = pageNames
            prefix = options.prefix.isEmpty ? "" : options.prefix + "/"
            try attach(for: access)
        }

        // MARK: Attaching

        private func attach(for access: Access) throws(ObjectStoreError) {
            let path = path(S3ObjectStore.marker)
            let found = try client.send(.get, path)
            if found.status != 404 {
                guard found.body == S3ObjectStore.markerContent else {
                    throw foreign("its object \(S3ObjectStore.marker) is of another version")
                }
            } else if let other = try keys("", after: nil, limit: 1, all: true).first {
                throw foreign("it holds other objects, '\(other)' among them")
            } else if access == .writing {
                // Another process may be faster: 412.
                _ = try client.send(.put, path, headers: S3ObjectStore.ifAbsent, body: S3ObjectStore.markerContent)
            }
            guard access == .writing else { return }
            let again = try client.send(.put, path, headers: S3ObjectStore.ifAbsent, body: S3ObjectStore.markerContent)
            guard again.status == 412 else {
                throw .setup(
                    .ignoresConditions, reason: "\(client.place.host) replaced an object in spite of If-None-Match: *")
            }
        }

        static let ifAbsent = [(name: "if-none-match", value: "*")]

        private func foreign(_ reason: String) -> ObjectStoreError {
            .foreign(path: "s3://\(client.bucket)/\(prefix)", reason: reason)
        }

        // MARK: Objects

        /// Uploads an object by one request, a large one in parts, with `If-None-Match` or `If-Match`; the tag is its `ETag`.
        public func put(
            _ name: String, _ content: ObjectContent, _ condition: PutCondition
        ) throws(ObjectStoreError) -> ObjectTag {
            let path = try path(of: name)
            let headers =
                switch condition {
                case .ifAbsent: S3ObjectStore.ifAbsent
                case .ifMatch(let tag): [(name: "if-match", value: tag.text)]
                }
            let response: S3Response
            if content.bytes <= partBytes {
                var body: [UInt8] = []
                body.reserveCapacity(Int(content.bytes))
                try content.forEachPiece { piece throws(ObjectStoreError) in body += piece }
                response = try client.send(.put, path, headers: headers, body: body)
            } else {
                response = try putInParts(path, content, headers)
            }
            switch response.status {
            case 200..<300: return ObjectTag(S3ObjectStore.tag(response))
            case 412: throw try unmet(condition, name)
            case 404 where condition != .ifAbsent: throw try unmet(condition, name)
            default: throw unexpected(response, name)
            }
        }

        /// Why a condition does not hold. Services answer 404 or 412 where an object to be replaced is missing.
        private func unmet(_ condition: PutCondition, _ name: String) throws(ObjectStoreError) -> ObjectStoreError {
            if condition == .ifAbsent { return .exists(name: name) }
            _ = try get(name, 0..<1)
            return .changed(name: name)
        }

        private func unexpected(_ response: S3Response, _ name: String) -> ObjectStoreError {
            .refused(reason: "the answer with \(name) has HTTP status \(response.status)")
        }

        private static func tag(_ response: S3Response) -> String {
            if let tag = response.headers["etag"] { return tag }
            // The end of an upload in parts has it in its body.
            return S3Document.parse(response.body)?.first("ETag") ?? ""
        }

        /// Downloads an object, or a range of it.
        ///
        /// - Throws: ``ObjectStoreError/notFound(name:)``.
        public func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
            let path = try path(of: name)
            // A range header names at least one byte.
            let needed = range.map { $0.lowerBound..<max($0.upperBound, $0.lowerBound + 1) }
            let headers = needed.map { [(name: "range", value: "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? []
            let response = try client.send(.get, path, headers: headers)
            switch response.status {
            case 404: throw .notFound(name: name)
            case 416:
                return ObjectBytes(bytes: [], tag: ObjectTag(""), total: try S3ObjectStore.total(response, name))
            case 206:
                let total = try S3ObjectStore.total(response, name)
                let wanted = min(total, range?.upperBound ?? total) - min(total, range?.lowerBound ?? 0)
                guard UInt64(response.body.count) >= wanted else {
                    throw .unavailable(reason: "the answer with \(name) is cut short")
                }
                return ObjectBytes(
                    bytes: Array(response.body.prefix(Int(wanted))), tag: ObjectTag(S3ObjectStore.tag(response)),
                    total: total)
            case 200:
                // A service without ranges answers with the whole object.
                let total = UInt64(response.body.count)
                let (lower, upper) = (min(range?.lowerBound ?? 0, total), min(range?.upperBound ?? total, total))
                return ObjectBytes(
                    bytes: Array(response.body[Int(lower)..<Int(upper)]), tag: ObjectTag(S3ObjectStore.tag(response)),
                    total: total)
            default: throw unexpected(response, name)
            }
        }

        /// The size of an object of which a range was requested: `bytes 0-9/100`, `bytes */100`, or an element of the error.
        private static func total(_ response: S3Response, _ name: String) throws(ObjectStoreError) -> UInt64 {
            let range = response.headers["content-range"]?.split(separator: "/").last.flatMap { UInt64($0) }
            let total = range ?? S3Document.parse(response.body)?.first("ActualObjectSize").flatMap { UInt64($0) }
            guard let total else { throw .refused(reason: "the answer with \(name) does not say its size") }
            return total
        }

        /// Lists keys by `ListObjectsV2`, as many requests as the limit needs.
        public func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
            try keys(prefix, after: name, limit: limit, all: false)
        }

        /// Deletes an object by one request. Deleting a missing object succeeds.
        public func delete(_ name: String) throws(ObjectStoreError) { _ = try client.send(.delete, try path(of: name)) }

        // MARK: Listings

        /// The keys behind the prefix of the store.
        ///
        /// - Parameter all: whether those that are no names of objects count.
        private func keys(
            _ prefix: String, after name: String?, limit: Int, all: Bool
        ) throws(ObjectStoreError) -> [String] {
            var found: [String] = []
            var token: String?
            while found.count < limit {
                var query = [("list-type", "2"), ("prefix", self.prefix + prefix)]
                query.append(("max-keys", "\(min(limit - found.count + 1, pageNames))"))
                if let token {
                    query.append(("continuation-token", token))
                } else if let name {
                    query.append(("start-after", self.prefix + name))
                }
                let response = try client.send(.get, client.place.bucketPath, query: query)
                guard response.status == 200, let page = S3Document.parse(response.body),
                    page.name == "ListBucketResult"
                else { throw .refused(reason: "the answer to a listing is not one of S3") }
                for key in page.all("Contents").compactMap({ $0.child("Key")?.text }) {
                    guard key.hasPrefix(self.prefix) else { continue }
                    let name = String(key.dropFirst(self.prefix.count))
                    if all || ObjectName.parts(name) != nil { found.append(name) }
                }
                guard page.child("IsTruncated")?.text == "true" else { break }
                guard let next = page.child("NextContinuationToken")?.text, next != token else {
                    throw .refused(reason: "a listing says that it goes on, and not where")
                }
                token = next
            }
            return Array(found.prefix(limit))
        }

        // MARK: Names

        func path(_ name: String) -> String { client.place.basePath + S3Encoding.path(prefix + name) }

        private func path(of name: String) throws(ObjectStoreError) -> String {
            guard ObjectName.parts(name) != nil else { throw .invalidName(name) }
            return path(name)
        }
    }
#endif
