import MakoReplication
import Testing

/// What every object store does.
enum ObjectStoreContract {
    static func check(_ objects: some ObjectStore) throws {
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
        let tag = try objects.put("a/b/2", ObjectContent(bytes), .ifAbsent)
        #expect(throws: ObjectStoreError.exists(name: "a/b/2")) {
            try objects.put("a/b/2", ObjectContent([1]), .ifAbsent)
        }
        _ = try objects.put("a/b/10", ObjectContent([]), .ifAbsent)
        _ = try objects.put("a/c", ObjectContent([3]), .ifAbsent)
        #expect(try objects.get("a/b/2", nil) == ObjectBytes(bytes: bytes, tag: tag, total: 300_000))
        #expect(try objects.get("a/b/2", 5..<9).bytes == Array(bytes[5..<9]))
        #expect(try objects.get("a/b/2", 5..<9).total == 300_000)
        #expect(try objects.get("a/b/2", 5..<5).bytes == [])
        #expect(try objects.get("a/b/2", 299_999..<400_000).bytes == [bytes[299_999]])
        let behind = try objects.get("a/b/2", 300_000..<400_000)
        #expect(behind.bytes == [] && behind.total == 300_000)
        let empty = try objects.get("a/b/10", 0..<1)
        #expect(empty.bytes == [] && empty.total == 0)
        #expect(try objects.get("a/b/10", nil).bytes == [])
        #expect(throws: ObjectStoreError.notFound(name: "a/b")) { try objects.get("a/b", nil) }
        #expect(throws: ObjectStoreError.notFound(name: "x")) { try objects.get("x", 0..<1) }
        try checkListings(objects)
        try checkReplacing(objects)
        for name in ["", "/a", "a/", "a//b", "../a", ".a", "A", "a b"] {
            #expect(throws: ObjectStoreError.invalidName(name)) { try objects.put(name, ObjectContent([]), .ifAbsent) }
        }
    }

    private static func checkListings(_ objects: some ObjectStore) throws {
        #expect(try objects.list("a/b/", after: nil, limit: 9) == ["a/b/10", "a/b/2"])
        #expect(try objects.list("a/b/", after: "a/b/10", limit: 9) == ["a/b/2"])
        #expect(try objects.list("a/", after: nil, limit: 2) == ["a/b/10", "a/b/2"])
        #expect(try objects.list("", after: "a/b/2", limit: 9) == ["a/c"])
        #expect(try objects.list("nothing/", after: nil, limit: 9) == [])
        for number in 0..<20 { _ = try objects.put("many/\(number + 10)", ObjectContent([1]), .ifAbsent) }
        let names = (0..<20).map { "many/\($0 + 10)" }
        #expect(try objects.list("many/", after: nil, limit: 1000) == names)
        #expect(try objects.list("many/", after: "many/12", limit: 15) == Array(names[3..<18]))
        try objects.delete("a/b/2")
        try objects.delete("a/b/2")
        #expect(try objects.list("a/", after: nil, limit: 9) == ["a/b/10", "a/c"])
    }

    private static func checkReplacing(_ objects: some ObjectStore) throws {
        let first = try objects.put("head", ObjectContent([1]), .ifAbsent)
        let second = try objects.put("head", ObjectContent([2]), .ifMatch(first))
        #expect(throws: ObjectStoreError.changed(name: "head")) {
            try objects.put("head", ObjectContent([3]), .ifMatch(first))
        }
        #expect(throws: ObjectStoreError.notFound(name: "other")) {
            try objects.put("other", ObjectContent([3]), .ifMatch(first))
        }
        #expect(try objects.get("head", nil) == ObjectBytes(bytes: [2], tag: second, total: 1))
    }
}
