import Foundation
import MakoRecords
import Testing

@testable import MakoCommand

@Suite struct TypeInferenceTests {
    private func infer(_ fields: [InputField]) -> InferredColumn {
        var inference = TypeInference()
        for (index, field) in fields.enumerated() { inference.add(InputRow(line: index + 2, fields: [field])) }
        return inference.result(names: ["c"])[0]
    }

    private func infer(_ texts: String...) -> ColumnType { infer(texts.map { InputField.raw($0) }).type }

    @Test func eachTypeFromText() {
        #expect(infer("1", "-5", "0") == .integer)
        #expect(infer("1", "18446744073709551615") == .unsigned)
        #expect(infer("1", "2.5", "-1e3") == .double)
        #expect(infer("NaN", "1", "-Infinity") == .double)
        #expect(infer("true", "False") == .bool)
        #expect(infer("2026-01-31", "2026-01-31T10:00:00Z") == .date)
        #expect(infer("Ada") == .text)
    }

    @Test func nothingIsTakenForANumberThatWouldLoseSomething() {
        #expect(infer("0123") == .text)
        #expect(infer("+49 30") == .text)
        #expect(infer("1", "x") == .text)
        #expect(infer("9007199254740993", "0.5") == .text)
        #expect(infer("-1", "18446744073709551615") == .text)
        #expect(infer("18446744073709551616") == .text)
        #expect(infer("2026-02-30") == .text)
        #expect(infer("1", "true") == .text)
        #expect(infer("nan", "Infinity") == .text)
        #expect(infer("9007199254740993", "NaN") == .text)
        #expect(infer("1e999") == .text)
        #expect(infer("1e-400") == .text)
        #expect(infer("1.2345e-320") == .text)
        #expect(infer("3.14159265358979323846") == .text)
        #expect(infer("0.5", "12345678901234567.5") == .text)
    }

    /// What programs write for a double is one: its shortest digits, 17 digits, all of them.
    @Test func theDigitsOfADoubleAreADouble() {
        for value in [0.1, 1.0 / 3, .leastNonzeroMagnitude, 1.7976931348623157e308, 123456.789, -2.5e-10, 0x1p-44] {
            #expect(infer("\(value)", String(format: "%.17g", value), String(format: "%.60e", value)) == .double)
        }
        #expect(infer("1.10", "0.0", "0e5", "1.50000000000000000000") == .double)
    }

    @Test func emptyFieldsMakeAColumnOptional() {
        #expect(infer([.raw("1"), .missing]) == InferredColumn(name: "c", type: .integer, isOptional: true))
        #expect(infer([.raw("1"), .raw("")]) == InferredColumn(name: "c", type: .integer, isOptional: true))
        #expect(infer([.raw("x"), .raw("")]) == InferredColumn(name: "c", type: .text, isOptional: false))
        #expect(infer([.missing]) == InferredColumn(name: "c", type: .text, isOptional: true))
    }

    @Test func JSONTypesStayAsTheyAre() {
        #expect(infer([.string("1"), .string("2")]).type == .text)
        #expect(infer([.string("2026-01-31")]).type == .date)
        #expect(infer([.integer(1), .double(0.5)]).type == .double)
        #expect(infer([.string("NaN"), .double(0.5)]).type == .double)
        #expect(infer([.bool(true), .missing]) == InferredColumn(name: "c", type: .bool, isOptional: true))
        #expect(infer([.json("[]"), .integer(1)]).type == .text)
    }

    @Test func aColumnThatAppearsLaterIsOptional() {
        var inference = TypeInference()
        inference.add(InputRow(line: 1, fields: [.integer(1)]))
        inference.add(InputRow(line: 2, fields: [.integer(2), .bool(true)]))
        #expect(
            inference.result(names: ["a", "b"]) == [
                InferredColumn(name: "a", type: .integer, isOptional: false),
                InferredColumn(name: "b", type: .bool, isOptional: true),
            ])
    }

    @Test func everyInferredFieldConverts() {
        let samples: [[InputField]] = [
            [.raw("1"), .missing, .raw("")], [.raw("1"), .raw("2.5")], [.raw("TRUE"), .raw("false")],
            [.raw("2026-01-31 10:00")], [.integer(1), .bool(true)], [.unsigned(.max), .integer(3)],
            [.json("[]"), .double(1.5), .string("x")],
        ]
        for fields in samples {
            let type = infer(fields).type
            for field in fields { #expect(FieldConversion.value(field, as: type) != nil, "\(field) as \(type)") }
        }
    }

    @Test func conversionsToOtherTypes() {
        #expect(FieldConversion.value(.raw("x'00fF'"), as: .blob) == .blob([0, 255]))
        #expect(
            FieldConversion.value(.raw("00112233-4455-6677-8899-AABBCCDDEEFF"), as: .uuid)
                == .uuid(0x0011_2233_4455_6677, 0x8899_AABB_CCDD_EEFF))
        // A sign is no hexadecimal digit.
        #expect(FieldConversion.value(.raw("x'00+f'"), as: .blob) == nil)
        #expect(FieldConversion.value(.raw("x'-0'"), as: .blob) == nil)
        #expect(FieldConversion.value(.raw("+0112233-4455-6677-8899-AABBCCDDEEFF"), as: .uuid) == nil)
        #expect(FieldConversion.value(.raw("abc"), as: .integer) == nil)
        #expect(FieldConversion.value(.raw("9007199254740993"), as: .double) == nil)
        #expect(FieldConversion.value(.raw("-1"), as: .unsigned) == nil)
        #expect(FieldConversion.value(.raw("1"), as: .bool) == .bool(true))
    }
}
