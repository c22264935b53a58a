import Foundation
import Mako
import Testing

/// Booleans in dictionaries from which objects are made.
@Suite struct DictionaryBooleanTests {
    private func row(_ json: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    @Test(arguments: ["int", "uint8", "uint64", "float", "double", "decimal", "level", "optionalInt"])
    func trueIsNoNumber(_ name: String) throws {
        for json in ["true", "false"] {
            let row = try row("{\"\(name)\": \(json)}")
            #expect {
                try Everything(row)
            } throws: { error in
                guard case MakoError.typeMismatch("Everything", name, _, _) = error else { return false }
                return true
            }
        }
        for value in [true, false] {
            #expect(throws: MakoError.self) { try Everything([name: value]) }
            #expect(throws: MakoError.self) { try Everything([name: NSNumber(value: value)]) }
        }
    }

    @Test func numbersAndBooleansAreTakenForWhatTheyAre() throws {
        let object = try Everything(
            try row(#"{"flag": true, "optionalFlag": false, "int": 1, "double": 0, "uint8": 1}"#))
        #expect(object.flag && object.optionalFlag == false)
        #expect(object.int == 1 && object.double == 0 && object.uint8 == 1)
        #expect(try Everything(["flag": true, "optionalFlag": NSNumber(value: true)]).optionalFlag == true)
    }
}
