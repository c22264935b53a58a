#if Replication
    extension S3ObjectStore {
        private static let mostParts: UInt64 = 10_000
        private static let mostBytes: UInt64 = 5 << 40

        /// Uploads a large object in parts, each of which is repeated alone. The object appears with the request that ends the upload, which has the
        /// condition.
        ///
        /// - Returns: the answer to that request.
        func putInParts(
            _ path: String, _ content: ObjectContent, _ condition: [(name: String, value: String)]
        ) throws(ObjectStoreError) -> S3Response {
            guard content.bytes <= S3ObjectStore.mostBytes else {
                throw .refused(reason: "an object has at most 5 TiB, and this one has \(content.bytes) bytes")
            }
            try checkConditionsOfParts()
            let least = (content.bytes + S3ObjectStore.mostParts - 1) / S3ObjectStore.mostParts
            let size = max(partBytes, least)
            return try upload(path, condition) { add throws(ObjectStoreError) in
                var offset: UInt64 = 0
                while offset < content.bytes {
                    let end = min(content.bytes, offset + size)
                    var part: [UInt8] = []
                    while offset < end {
                        let count = min(end - offset, UInt64(ObjectContent.pieceBytes))
                        part += try content.read(from: offset, count: Int(count))
                        offset += count
                    }
                    try add(part)
                }
            }
        }

        /// Tries to replace the marker by an upload in parts, once: a service may honour conditions of plain requests alone.
        private func checkConditionsOfParts() throws(ObjectStoreError) {
            if partsHonourConditions.withLock({ $0 }) { return }
            let response = try upload(path(S3ObjectStore.marker), S3ObjectStore.ifAbsent) {
                add throws(ObjectStoreError) in try add(S3ObjectStore.markerContent)
            }
            guard response.status == 412 else {
                throw .setup(
                    .ignoresConditions,
                    reason: "\(client.place.host) replaced an object by an upload in parts in spite of If-None-Match: *"
                )
            }
            partsHonourConditions.withLock { $0 = true }
        }

        /// Begins an upload, sends its parts and ends it. An upload that fails is removed, as far as the service answers.
        private func upload(
            _ path: String, _ condition: [(name: String, value: String)],
            _ body: (_ add: (_ part: [UInt8]) throws(ObjectStoreError) -> Void) throws(ObjectStoreError) -> Void
        ) throws(ObjectStoreError) -> S3Response {
            let begun = try client.send(.post, path, query: [("uploads", "")])
            guard let id = S3Document.parse(begun.body)?.first("UploadId"), !id.isEmpty else {
                throw .refused(reason: "the answer to the begin of an upload names no upload")
            }
            do throws(ObjectStoreError) {
                var list = ""
                var number = 0
                try body { part throws(ObjectStoreError) in
                    number += 1
                    let query = [("partNumber", "\(number)"), ("uploadId", id)]
                    let response = try client.send(.put, path, query: query, body: part)
                    guard let tag = response.headers["etag"], response.status == 200 else {
                        throw .unavailable(reason: "the upload of \(path) is gone (HTTP status \(response.status))")
                    }
                    let text = tag.filter { $0 != "<" && $0 != "&" && $0 != ">" }
                    list += "<Part><PartNumber>\(number)</PartNumber><ETag>\(text)</ETag></Part>"
                }
                let end = Array("<CompleteMultipartUpload>\(list)</CompleteMultipartUpload>".utf8)
                let response = try client.send(.post, path, query: [("uploadId", id)], headers: condition, body: end)
                // After a lost answer the upload may have ended: the next attempt finds the object.
                if response.status == 404 { throw .unavailable(reason: "the upload of \(path) is gone") }
                if response.status == 412 { abandon(path, id) }
                return response
            } catch {
                abandon(path, id)
                throw error
            }
        }

        private func abandon(_ path: String, _ id: String) {
            _ = try? client.send(.delete, path, query: [("uploadId", id)])
        }
    }
#endif
