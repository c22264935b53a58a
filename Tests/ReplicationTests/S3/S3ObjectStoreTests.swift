#if Replication
    import Testing

    @testable import MakoReplication

    /// Objects in a bucket of a simulated service.
    @Suite struct S3ObjectStoreTests {
        private func isSetup(_ error: any Error, _ problem: ObjectStoreProblem) -> Bool {
            if case ObjectStoreError.setup(problem, _) = error { true } else { false }
        }

        @Test func objectsBehaveAsThoseOfAFolder() throws {
            for prefix in ["", "apps/Größe & 1"] {
                let service = SimulatedS3()
                try ObjectStoreContract.check(try service.store(prefix: prefix, partBytes: 1000))
                #expect(service.uploads == 0)
                #expect(service.keys.allSatisfy { $0.hasPrefix(prefix) })
            }
        }

        @Test func attachingMarksAnEmptyPrefixOnce() throws {
            let service = SimulatedS3()
            _ = try service.store(prefix: "a")
            #expect(service.keys == ["a/.mako-objects"])
            #expect(service.requests.count == 4)
            _ = try service.store(prefix: "a")
            #expect(service.requests.count == 6)
            // A reader puts nothing, even where there is nothing.
            _ = try service.store(prefix: "a", for: .reading)
            let empty = try service.store(prefix: "b", for: .reading)
            #expect(try empty.list("", after: nil, limit: 9) == [])
            #expect(service.requests.suffix(4).allSatisfy { $0.method == .get })
        }

        @Test func prefixesOfOtherObjectsAreRefused() throws {
            let service = SimulatedS3()
            service.set("a/Letter.txt", [1])
            for access in [S3ObjectStore.Access.writing, .reading] {
                #expect {
                    _ = try service.store(prefix: "a", for: access)
                } throws: { error in
                    guard case ObjectStoreError.foreign("s3://bucket/a/", let reason) = error else { return false }
                    return reason.contains("Letter.txt")
                }
            }
            #expect(service.keys == ["a/Letter.txt"])
            service.set("b/.mako-objects", [1])
            #expect(throws: ObjectStoreError.self) { try service.store(prefix: "b") }
        }

        @Test func servicesThatIgnoreConditionsAreRefused() throws {
            #expect {
                _ = try SimulatedS3(ignoresConditions: true).store()
            } throws: { isSetup($0, .ignoresConditions) }
            let parts = SimulatedS3(ignoresConditionsOfParts: true)
            let objects = try parts.store(partBytes: 10)
            _ = try objects.put("small", ObjectContent([1]), .ifAbsent)
            #expect {
                _ = try objects.put("large", ObjectContent([UInt8](repeating: 1, count: 11)), .ifAbsent)
            } throws: { isSetup($0, .ignoresConditions) }
            #expect(!parts.keys.contains("large"))
            _ = try parts.store(prefix: "")
        }

        @Test func causesOfFailuresAreNamed() throws {
            let causes: [(SimulatedS3.Fault, ObjectStoreProblem, String)] = [
                (.answer(status: 404, code: "NoSuchBucket"), .noBucket, "'bucket'"),
                (.answer(status: 403, code: "AccessDenied"), .accessDenied, "s3:GetObject"),
                (.answer(status: 403, code: ""), .accessDenied, "AKID"),
                (.answer(status: 403, code: "InvalidAccessKeyId"), .invalidCredentials, "AKID"),
                (.answer(status: 403, code: "SignatureDoesNotMatch"), .invalidCredentials, "AKID"),
                (.answer(status: 400, code: "ExpiredToken"), .invalidCredentials, "AKID"),
                (
                    .answer(
                        status: 403, code: "RequestTimeTooSkewed",
                        headers: ["date": "Tue, 14 Nov 2023 21:13:20 GMT"]), .clockSkew, "3600 seconds ahead"
                ),
                (
                    .answer(status: 400, code: "AuthorizationHeaderMalformed", extra: "<Region>eu-west-3</Region>"),
                    .wrongRegion("eu-west-3"), "us-east-1"
                ),
                (
                    .answer(status: 301, code: "", headers: ["x-amz-bucket-region": "eu-west-1"]),
                    .wrongRegion("eu-west-1"), "us-east-1"
                ),
                (.answer(status: 301, code: "PermanentRedirect"), .wrongRegion(nil), "us-east-1"),
            ]
            for (fault, problem, word) in causes {
                let service = SimulatedS3()
                let objects = try service.store()
                service.inject(always: fault)
                let count = service.requests.count
                #expect {
                    _ = try objects.get("a", nil)
                } throws: { error in isSetup(error, problem) && "\(error)".contains(word) }
                #expect(service.requests.count == count + 1)
            }
            let service = SimulatedS3()
            service.inject(.answer(status: 501, code: "NotImplemented"), atRequest: 2)
            #expect { _ = try service.store() } throws: { isSetup($0, .ignoresConditions) }
        }

        @Test func requestsToABusyServiceAreRepeatedWithGrowingDelays() throws {
            let service = SimulatedS3()
            let objects = try service.store(attempts: 6)
            let first = service.requests.count
            for index in 0..<3 { service.inject(.busy, atRequest: first + index) }
            _ = try objects.put("a", ObjectContent([1]), .ifAbsent)
            #expect(service.requests.count == first + 4)
            #expect(service.pauses.count == 3)
            for (pause, most) in zip(service.pauses, [0.1, 0.2, 0.4]) { #expect((most / 2...most).contains(pause)) }
            service.inject(always: .busy)
            #expect {
                _ = try objects.get("a", nil)
            } throws: { error in
                guard case ObjectStoreError.unavailable(let reason) = error else { return false }
                return reason.contains("SlowDown") && reason.contains("6 times")
            }
            #expect(service.requests.count == first + 10)
            service.inject(always: .answer(status: 409, code: "ConditionalRequestConflict"))
            #expect(throws: ObjectStoreError.self) { try objects.put("b", ObjectContent([1]), .ifAbsent) }
            #expect(service.requests.count == first + 16)
        }

        @Test func aPutWhoseAnswerIsLostFindsItsObject() throws {
            let service = SimulatedS3()
            let objects = try service.store()
            service.inject(.answerLost, atRequest: service.requests.count)
            #expect(throws: ObjectStoreError.exists(name: "a")) { try objects.put("a", ObjectContent([1]), .ifAbsent) }
            #expect(try objects.get("a", nil).bytes == [1])
        }

        @Test func answersThatMeanNothingAreRefused() throws {
            let service = SimulatedS3()
            let objects = try service.store()
            for status in [404, 416, 418] {
                service.inject(always: .answer(status: status, code: "Odd"))
                #expect {
                    _ = try objects.put("a", ObjectContent([1]), .ifAbsent)
                } throws: { error in
                    if case ObjectStoreError.refused = error { true } else { false }
                }
            }
            for status in [204, 412, 418] {
                service.inject(always: .answer(status: status, code: ""))
                #expect {
                    _ = try objects.get("a", nil)
                } throws: { error in
                    if case ObjectStoreError.refused = error { true } else { false }
                }
            }
            service.inject(always: .answer(status: 200, code: ""))
            #expect(throws: ObjectStoreError.self) { try objects.list("", after: nil, limit: 9) }
        }

        @Test func anUploadThatFailsIsRemoved() throws {
            let service = SimulatedS3()
            let objects = try service.store(partBytes: 10)
            let broken = ObjectContent(bytes: 40) { offset, count throws(ObjectStoreError) in
                if offset >= 20 { throw .source("the source broke off") }
                return [UInt8](repeating: 1, count: count)
            }
            #expect(throws: ObjectStoreError.source("the source broke off")) { try objects.put("a", broken, .ifAbsent) }
            _ = try objects.put("a", ObjectContent([1]), .ifAbsent)
            let large = ObjectContent([UInt8](repeating: 2, count: 25))
            #expect(throws: ObjectStoreError.exists(name: "a")) { try objects.put("a", large, .ifAbsent) }
            #expect(service.uploads == 0)
            #expect(try objects.get("a", nil).bytes == [1])
        }

        /// Ships random commits, with a fault at one request.
        ///
        /// - Returns: whether there was such a request.
        private func ship(_ fault: SimulatedS3.Fault, atRequest request: Int) throws -> Bool {
            let service = SimulatedS3()
            service.inject(fault, atRequest: request)
            let ledger = try Ledger(seed: 71, place: try service.store(prefix: "p", partBytes: 3000))
            let replicator = try ledger.replicator(objectBytes: 3000)
            for _ in 0..<6 {
                try ledger.commitAtRandom(selfContained: request % 2 == 0)
                // An upload in parts whose end is lost is tried again by the next call.
                while true {
                    do throws(ReplicationError) {
                        try replicator.ship()
                        break
                    } catch { guard case .objects(.unavailable) = error else { throw error } }
                }
            }
            let requests = service.requests.count
            #expect(try ledger.restored(nil) == ledger.state)
            if request % 7 == 0 { try ledger.checkAll() }
            return request < requests
        }

        @Test(arguments: [SimulatedS3.Fault.busy, .answerLost, .doubled])
        func faultsOfTheServiceAtAnyRequestLoseNothing(_ fault: SimulatedS3.Fault) throws {
            var request = 0
            while try ship(fault, atRequest: request) { request += 1 }
            #expect(request > 15)
        }
    }
#endif
